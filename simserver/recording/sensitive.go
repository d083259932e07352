package recording

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// What a name says that hides something. In a header's and a query parameter's it
// is any part, since net/http makes X-Authtoken of X-AuthToken. In a field's, where
// "max_tokens" counts some and "prompt_cache_key" is no key, it is one of
// secretParts, or a key or token of a kind.
var (
	headerParts = []string{
		"auth", "token", "key", "secret", "passw", "passphrase", "cred", "cookie", "session", "jwt", "sign",
		"bearer", "userinfo", "identity", "assertion", "project", "account",
	}
	identityParts = []string{"project", "account"} // of a header, too; and words that begin with "org"
	plainHeaders  = []string{"access-control-allow-credentials"}
	countWords    = []string{ // beside "tokens"
		"cached", "completion", "count", "input", "limit", "max", "min", "output", "prompt", "ratelimit", "reasoning", "remaining", "total", "used",
	}

	secretParts = []string{"authorization", "password", "passwd", "passphrase", "credential"}
	secretWords = []string{"auth", "authentication", "bearer", "cookie", "cookies", "jwt", "pwd", "secret", "secrets"}
	keyKinds    = []string{ // also where they are one word with what follows
		"access", "account", "admin", "anthropic", "api", "auth", "aws", "azure", "bearer", "client", "encryption", "master", "oauth", "openai",
		"private", "refresh", "secret", "security", "service", "session", "signing", "ssh", "subscription",
	}
	shortKinds = []string{"ai", "hf", "id", "sign", "sub"} // only as words of their own
	vocabulary = []string{                                 // of tokens that are a model's
		"begin", "bos", "cls", "completion", "end", "eos", "fim", "first", "image", "input", "last", "mask", "middle", "next", "output", "pad", "per",
		"placeholder", "prefix", "prompt", "reasoning", "sep", "special", "start", "stop", "suffix", "text", "think", "thinking", "unk", "video", "audio",
	}
)

// sensitiveHeader says whether a header's values must not be in a file.
func sensitiveHeader(name string) bool {
	lower := strings.ToLower(name)
	if slices.Contains(plainHeaders, lower) {
		return false
	}
	words := wordsOf(name)
	if slices.Contains(words, "tokens") && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(countWords, w) }) {
		lower = strings.ReplaceAll(lower, "tokens", "")
	}
	return identityHeader(name) || containsAny(lower, headerParts)
}

// identityHeader says whether they say who the client is, which may be an ordinary
// word.
func identityHeader(name string) bool {
	return containsAny(strings.ToLower(name), identityParts) ||
		slices.ContainsFunc(wordsOf(name), func(w string) bool { return strings.HasPrefix(w, "org") })
}

// sensitiveParameter says the same of a query parameter.
func sensitiveParameter(name string) bool {
	return sensitiveHeader(name) || sensitiveField(name) || strings.EqualFold(name, "sig")
}

// sensitiveMember says the same of what stands under a name in an object of a JSON
// body.
func sensitiveMember(object map[string]any, name string) bool {
	value := object[name]
	if glued := strings.Join(wordsOf(name), ""); !textual(value) && (strings.Contains(glued, "tokens") || strings.Contains(glued, "tokenid")) {
		return false // counts and ids
	}
	return sensitiveField(name) || textual(value) && isToken(name) && object["logprob"] == nil && object["bytes"] == nil
}

// sensitiveField says that a field's name is enough to know.
func sensitiveField(name string) bool {
	words := wordsOf(name)
	for i, w := range words {
		switch {
		case slices.Contains(secretWords, w), strings.HasSuffix(w, "secret"), strings.HasSuffix(w, "secrets"), containsAny(w, secretParts):
			return true
		case i > 0 && (w == "key" || w == "keys" || w == "token") && slices.Contains(shortKinds, words[i-1]):
			return true
		}
	}
	glued := strings.NewReplacer("tokeniz", "", "tokenis", "").Replace(strings.Join(words, ""))
	return slices.ContainsFunc(keyKinds, func(kind string) bool {
		return strings.Contains(glued, kind+"key") || strings.Contains(glued, kind+"token")
	})
}

// isToken says that a field is called a token, and not one of a model's.
func isToken(name string) bool {
	words := wordsOf(name)
	if len(words) == 0 {
		return false
	}
	kind, is := strings.CutSuffix(words[len(words)-1], "token")
	if kind == "" && len(words) > 1 {
		kind = words[len(words)-2]
	}
	return is && !slices.Contains(vocabulary, kind)
}

// textual says that a value is or has a text: a number alone is a count or an id.
func textual(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, textual)
	case nil, bool, json.Number:
		return false
	}
	return true
}

func containsAny(name string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
}

// wordsOf takes a name apart at what is no letter or digit and at camelCase's
// humps, in lower case. "openAIKey" has three.
func wordsOf(name string) []string {
	var spaced strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) {
			before := runes[i-1]
			if unicode.IsLower(before) || unicode.IsDigit(before) || unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
				spaced.WriteByte(' ')
			}
		}
		spaced.WriteRune(r)
	}
	return strings.FieldsFunc(strings.ToLower(spaced.String()), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
