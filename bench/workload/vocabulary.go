package workload

import "strings"

// opening is the word that every prompt starts with. What a tokenizer does with
// a word at the very start of a text can differ from what it does with one after
// a space; a start that never changes makes that a part of the constant overhead.
const opening = "the"

// Vocabulary returns the words that prompts are made of: plain English words of
// two to eight lower-case letters, all distinct, in alphabetical order. Each was
// checked to be one token, after a space and at the start of a text, in the
// tokenizers o200k, cl100k, Llama 3 and Llama 2.
func Vocabulary() []string { return strings.Fields(vocabulary) }

const vocabulary = `
able about above accept access account act action active actual add address adult after again against age agent ago
agree ahead aid aim air alarm album alive all allow almost alone along already also alter always among amount analysis
and anger angle animal annual another answer any anything appear apple apply area arm around arrival arrow art article
artist as ash aside ask aspect assist at attach attempt author auto average avoid award aware away baby back bad bag
balance ball band bank bar bare base basic basis basket battery battle bay beam bean bear beat because bed been before
begin being belief bell below best bet better between big bill bind bird birth bit blank blind block blue board boat
body bold bond bonus book boost boot border born borrow both bottom box boy brain branch brand bread break brick
bridge brief bright bring broken brown budget build builder burn burst bus business busy but button buy by call camera
camp campaign can cancel cap capital capture car card care career cargo carry cart case cast castle cat catch category
cause cell center central chain chair change channel chapter charge chart cheap check chef chemical chief child choice
choose church circle city civil claim class classic clean clear client clock close cloth cloud club coach coal coat
code coffee coin cold collect college color column combine come comfort command comment common company compare
complete complex concept concert conduct confirm connect consider constant contact contain content contest context
continue contract control convert cook cool copy core corn corner correct cost could count counter country county
course court cover cow craft create credit crew cry culture cup current curve custom cut cycle daily damage dance dark
data date daughter day deal deck declare deep define degree delay deliver depart depend depth derive describe design
detail detect develop device dialog dig digital direct director dirty disc discover display distance district divide
doctor document dog domain door double down draft drag draw drawing dream dress drink drive driver drop dry due each
ear early earth ease east easy eat economic edge edit editor effect egg eight either elder elect element else empty
enable end energy engine ensure enter entry equal equip era error escape estate estimate even event ever every
everyone exact exam example except exchange execute exercise exist exit expand expect expert export express extend
extent extra eye fabric face facility fact factor factory fade fail failure fair faith fall false family fan far farm
fast father fault favor feature fee feed feel few fiction field fight figure file fill film filter final find fine
finger finish fire firm first fish fit five fix flag flash flat flight float floor flow flower fly focus folk follow
food foot football for force foreign forest forget form former forth fortune forward found four frame free fresh
friend from front fruit fuel full fully fun function fund future gain gallery game gap gas gate gender gene general
get gift girl give glass global go goal gold good grab grade grand grant graph grass grave gray great green grid
ground group grow growth guard guess guest guide habit hair half hall hand handle happy hard hat have head health hear
heart heat heavy height hello help hen her here hero hidden hide high hill hint hip history hit hold hole home hook
hope horn horse hospital host hot hotel hour house how however human ice idea ideal identify if ill image impact
import in include income increase index industry inform initial inner input inside install instance instead interest
internal into invest iron issue it item jet job join joint journal joy judge jump just justice keep key keyboard kick
kind king know label lake lamp land language large last late later launch law lay layer lazy lead leader leaf league
lean learn least leave lecture left leg legal legend length less let letter level library license lie life lift light
like likely limit line link lip list listen little live living load loan local lock log logic long look loop lord lose
loss lost lot love low lower luck lung machine mad magic mail main major make male man manage manager manual many map
margin mark market mask mass master match material matter maximum may maybe me mean meaning measure media medical
medicine medium meet meeting member memory mental mention menu merchant mere message metal meter method middle might
mile mill million mind mine minimum minor minute mirror miss mission mix mobile mode model modern modify moment money
monitor month moon more most mostly mother motion motor mount mouse mouth move movement movie much multiple music must
my name nation national native natural nature near neck need negative neighbor net network neutral never new news next
nice night nine no nod noise none nor normal north not note nothing notice now number nut object occasion odd of off
offer office official often oil okay old on once one online only onto open opening operate option or orange orbit
order ordinary organ origin other ought our out outer outline output outside over overall own owner pace pack package
page pain paint pair pan panel paper parent park part partner party pass past path patient pattern pause pay payment
peace peak pen people per perfect perform perhaps period permit person personal pet phase phone photo phrase physical
pick picture piece pill pin pipe pitch place plain plan plane planet plant plate platform play player please plot plus
point pole policy poll pool pop popular port portion portrait pose position positive possible post pot pour power
practice predict prefer prepare presence present press pressure pretty prevent previous price primary prime print
prior private problem process produce product profile profit program progress project promise proof proper property
protect protein prove provide public publish pull purchase pure purpose push put quality quantity quarter queen
question quick quiet quit quite quote radio rail rain raise random range rank rapid rate rather ratio raw reach react
reaction read reader reading ready real really rear reason receive recent record recover red reduce refer reflect
region regular reject relation relative release remain remark remember remote remove rent repair repeat replace reply
report request require research reserve resident resolve resource respect respond rest restore result retain return
review reward rice rich ride right ring rise risk river road rock role roll roof room root rose rough round route
routine row rule run sad safe sale salt same sample sand save saving say scale scene schedule scheme school science
scope score scratch screen script sea search season seat second secret section sector secure security see seed seek
segment select self sell send sense sentence sequence series serve server service session set seven shadow shall shape
share sharp she shed sheet shell shift ship shop shore short should show side sign signal silent silver similar simple
since sing single sink sit site six size ski skill skin skip sky sleep slice slide slow small smart smooth snap snow
so soap social soft software solid solution solve some someone son song soon sorry sort sound source south space
special specific speech speed spell sphere spin split sport spot spread spring square stable staff stage stand
standard star start state station status stay steady steam steel stem step stick still stock stone stop storage store
storm story straight stream street strength stress stretch strict strike string strip stroke strong student studio
study stuff style subject submit success such suggest summer sun support sure surface survey sweet switch symbol
system table tail take talk tank tap target task tax tea teacher team tell ten tent term test text than thank that
their them theme then there they thin thing think third this though thought thread three through throw thus ticket tie
tight tile time tiny tip title to today tone too tool top topic total touch tour tower town trace track trade traffic
trail train transfer trap travel tree trial trip true trust truth try turn two type unable under uniform union unique
unit unity unknown unless until up upon upper urban us use used user usual usually valid value van vary vehicle
version very via video view visible vision visit visitor visual voice volume vote wait walk wall want warm warn
warning watch water wave way we weak wealth wear weather web week weight welcome well west western what wheel when
where whether which while who whole why wide wife wild will win wind window wine wing winner winter wire wise wish
with within without woman wood word work worker world worth would wrap write writer wrong yard yeah year yellow yes
yet yield you young your zero zone
`
