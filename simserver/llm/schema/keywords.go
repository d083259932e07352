package schema

import (
	"encoding/json"
	"math/big"
	"strings"
)

// reader reads a keyword's value into a node.
type reader func(p *parser, n *node, value any) *Error

// keywords are those with an effect. It is filled by init since reading a
// schema reads the schemas in it.
var keywords map[string]reader

func init() {
	keywords = map[string]reader{
		"type":  readType,
		"enum":  readEnum,
		"const": func(_ *parser, n *node, value any) *Error { n.list(value); return nil },

		"$ref":  readRef,
		"allOf": schemas("allOf", func(n *node) *[]*node { return &n.allOf }),
		"anyOf": schemas("anyOf", func(n *node) *[]*node { return &n.anyOf }),
		"oneOf": schemas("oneOf", func(n *node) *[]*node { return &n.oneOf }),
		"not":   one("not", func(n *node) **node { return &n.not }),

		"minimum":          bound("minimum", func(n *node) **big.Rat { return &n.minimum }),
		"maximum":          bound("maximum", func(n *node) **big.Rat { return &n.maximum }),
		"exclusiveMinimum": bound("exclusiveMinimum", func(n *node) **big.Rat { return &n.exclusiveMinimum }),
		"exclusiveMaximum": bound("exclusiveMaximum", func(n *node) **big.Rat { return &n.exclusiveMaximum }),
		"multipleOf":       readMultipleOf,

		"minLength": count("minLength", func(n *node) **int { return &n.minLength }),
		"maxLength": count("maxLength", func(n *node) **int { return &n.maxLength }),
		"pattern":   readPattern,
		"format":    readFormat,

		"prefixItems": schemas("prefixItems", func(n *node) *[]*node { return &n.prefixItems }),
		"items":       readItems,
		"minItems":    count("minItems", func(n *node) **int { return &n.minItems }),
		"maxItems":    count("maxItems", func(n *node) **int { return &n.maxItems }),
		"uniqueItems": readUniqueItems,

		"properties":           readProperties,
		"patternProperties":    readPatternProperties,
		"additionalProperties": one("additionalProperties", func(n *node) **node { return &n.additionalProperties }),
		"required":             readRequired,
		"minProperties":        count("minProperties", func(n *node) **int { return &n.minProperties }),
		"maxProperties":        count("maxProperties", func(n *node) **int { return &n.maxProperties }),

		"$id": readID,
	}
	for keyword, instead := range map[string]string{
		"if": "anyOf", "then": "anyOf", "else": "anyOf",
		"dependentSchemas": "anyOf", "dependentRequired": "anyOf", "dependencies": "anyOf",
		"contains": "items or prefixItems", "minContains": "minItems", "maxContains": "maxItems", "additionalItems": "items",
		"propertyNames":    "patternProperties with additionalProperties: false",
		"unevaluatedItems": "items", "unevaluatedProperties": "additionalProperties",
		"$dynamicRef": "$ref", "$recursiveRef": "$ref",
	} {
		keywords[keyword] = func(_ *parser, n *node, _ any) *Error {
			return n.fail(keyword, "is not supported, must be left out or said with %s", instead)
		}
	}
}

func readType(_ *parser, n *node, value any) *Error {
	names, isList := value.([]any)
	if !isList {
		names = []any{value}
	}
	for _, name := range names {
		text, _ := name.(string)
		t := typeOf(text)
		if t == 0 {
			return n.fail("type", "%s is not known, must be %s", describe(name), strings.Join(typeNames, ", "))
		}
		n.types |= t
	}
	if n.types == 0 {
		return n.fail("type", "the list is empty, must name a type")
	}
	return nil
}

func readEnum(_ *parser, n *node, value any) *Error {
	values, isList := value.([]any)
	if !isList || len(values) == 0 {
		return n.fail("enum", "it is %s, must be an array of at least one value", describe(value))
	}
	n.list(values...)
	return nil
}

func (n *node) list(values ...any) { n.lists = append(n.lists, newValueList(values)) }

func readRef(p *parser, n *node, value any) (err *Error) {
	ref, isText := value.(string)
	if !isText {
		return n.fail("$ref", "it is %s, must be text such as #/$defs/name", describe(value))
	}
	n.ref, err = p.target(n, ref)
	return err
}

// readID allows a schema to have a name; one inside another would change what
// its $refs mean.
func readID(_ *parser, n *node, _ any) *Error {
	if n.place.parent == nil {
		return nil
	}
	return n.fail("$id", "is only supported at the top, must be left out here")
}

// one reads a keyword whose value is a schema.
func one(keyword string, field func(*node) **node) reader {
	return func(p *parser, n *node, value any) (err *Error) {
		*field(n), err = p.node(value, n.place.key(keyword))
		return err
	}
}

// schemas reads a keyword whose value is a list of schemas.
func schemas(keyword string, field func(*node) *[]*node) reader {
	return func(p *parser, n *node, value any) *Error {
		list, isList := value.([]any)
		if !isList || len(list) == 0 {
			return n.fail(keyword, "it is %s, must be an array of at least one schema", describe(value))
		}
		for i, item := range list {
			sub, err := p.node(item, n.place.key(keyword).index(i))
			if err != nil {
				return err
			}
			*field(n) = append(*field(n), sub)
		}
		return nil
	}
}

func readItems(p *parser, n *node, value any) (err *Error) {
	if _, isList := value.([]any); isList {
		return n.fail("items", "it is an array, must be one schema for all elements; prefixItems has one for each")
	}
	n.items, err = p.node(value, n.place.key("items"))
	return err
}

func readUniqueItems(_ *parser, n *node, value any) *Error {
	truth, isBool := value.(bool)
	if !isBool {
		return n.fail("uniqueItems", "it is %s, must be true or false", describe(value))
	}
	n.uniqueItems = truth
	return nil
}

func readProperties(p *parser, n *node, value any) *Error {
	o, isObject := value.(*object)
	if !isObject {
		return n.fail("properties", "it is %s, must be an object of schemas", describe(value))
	}
	n.names, n.properties = o.keys, make(map[string]*node, len(o.keys))
	for _, name := range o.keys {
		sub, err := p.node(o.values[name], n.place.key("properties").key(name))
		if err != nil {
			return err
		}
		n.properties[name] = sub
	}
	return nil
}

func readPatternProperties(p *parser, n *node, value any) *Error {
	o, isObject := value.(*object)
	if !isObject {
		return n.fail("patternProperties", "it is %s, must be an object of schemas", describe(value))
	}
	for _, source := range o.keys {
		name, err := p.pattern(source)
		if err != nil {
			return n.fail("patternProperties", "%v", err)
		}
		sub, failed := p.node(o.values[source], n.place.key("patternProperties").key(source))
		if failed != nil {
			return failed
		}
		n.patternProperties = append(n.patternProperties, patternProperty{name, sub})
	}
	return nil
}

func readRequired(_ *parser, n *node, value any) *Error {
	names, isList := value.([]any)
	if !isList {
		return n.fail("required", "it is %s, must be an array of names", describe(value))
	}
	for _, name := range names {
		text, isText := name.(string)
		if !isText {
			return n.fail("required", "%s is in it, must be an array of names", describe(name))
		}
		n.required = append(n.required, text)
	}
	return nil
}

func readPattern(p *parser, n *node, value any) *Error {
	source, isText := value.(string)
	if !isText {
		return n.fail("pattern", "it is %s, must be text", describe(value))
	}
	pattern, err := p.pattern(source)
	if err != nil {
		return n.fail("pattern", "%v", err)
	}
	n.pattern = pattern
	return nil
}

func readFormat(_ *parser, n *node, value any) *Error {
	format, isText := value.(string)
	if !isText {
		return n.fail("format", "it is %s, must be text", describe(value))
	}
	n.format = format
	return nil
}

// bound reads a keyword whose value is a number.
func bound(keyword string, field func(*node) **big.Rat) reader {
	return func(_ *parser, n *node, value any) *Error {
		written, isNumber := value.(json.Number)
		if !isNumber {
			return n.fail(keyword, "it is %s, must be a number", describe(value))
		}
		exact, ok := number(written)
		if !ok {
			return n.fail(keyword, "%s is not supported, must be a number within 1e±400", describe(value))
		}
		*field(n) = exact
		return nil
	}
}

func readMultipleOf(p *parser, n *node, value any) *Error {
	err := bound("multipleOf", func(n *node) **big.Rat { return &n.multipleOf })(p, n, value)
	if err == nil && n.multipleOf.Sign() <= 0 {
		return n.fail("multipleOf", "it is %s, must be above 0", describe(value))
	}
	return err
}

// count reads a keyword whose value is a whole number. Those past any value that
// could be made are all the same.
func count(keyword string, field func(*node) **int) reader {
	return func(_ *parser, n *node, value any) *Error {
		written, _ := value.(json.Number)
		exact, ok := number(written)
		if !ok || exact.Sign() < 0 || !exact.IsInt() {
			return n.fail(keyword, "it is %s, must be a whole number, 0 or more", describe(value))
		}
		i := 1 << 30
		if exact.Cmp(big.NewRat(int64(i), 1)) < 0 {
			i = int(exact.Num().Int64())
		}
		*field(n) = &i
		return nil
	}
}
