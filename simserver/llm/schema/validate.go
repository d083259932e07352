package schema

import (
	"encoding/json"
	"math/big"
	"unicode/utf8"
)

// validator checks values. It gives up, and then says that a value does not fit,
// when its work is done.
type validator struct{ work int }

// checked is a value that is checked against a schema and all those in the same
// place. What is found out about it is found out once.
type checked struct {
	value any
	text  *string // canonical; nil: not made yet
	// Of a text, where length is not 0: how many characters it has.
	length int
	// Of a number, once read: its value; nil: it is too long to have one.
	read  bool
	exact *big.Rat
}

// size is what work on so many bytes costs.
func size(bytes int) int { return 1 + bytes/16 }

// check returns why a value does not fit a schema; nil: it does. Formats are not
// checked.
func (v *validator) check(n *node, value any) *Error { return v.checkIn(n, &checked{value: value}) }

// checkIn is check of a value that other schemas may have been tried on before.
func (v *validator) checkIn(n *node, c *checked) *Error {
	if v.work--; v.work < 0 {
		return v.tooMuch(n)
	}
	if n.never {
		return n.fail("", "it is false, so that no value fits")
	}
	if n.types != 0 && !v.holds(n.types, c) {
		return n.fail("type", "a value was found that is not %s", n.types)
	}
	if len(n.lists) > 0 && !v.listed(n, c) {
		return n.fail("enum", "no value of it was found that fits all else")
	}
	if err := v.checkInPlace(n, c); err != nil {
		return err
	}
	switch value := c.value.(type) {
	case json.Number:
		return v.checkNumber(n, c)
	case string:
		return v.checkText(n, c, value)
	case []any:
		return v.checkArray(n, value)
	case *object:
		return v.checkObject(n, value)
	}
	return nil
}

func (v *validator) tooMuch(n *node) *Error {
	return n.fail("", "checking a value takes too long, must be simpler")
}

// number is the value of c, a number.
func (v *validator) number(c *checked) (*big.Rat, bool) {
	if !c.read {
		text := c.value.(json.Number)
		v.work -= size(len(text))
		c.exact, _ = number(text)
		c.read = true
	}
	return c.exact, c.exact != nil
}

// canonical is the canonical text of c.
func (v *validator) canonical(c *checked) string {
	if c.text == nil {
		text := canonical(c.value)
		v.work -= size(len(text))
		c.text = &text
	}
	return *c.text
}

// holds says whether a value is of one of the types.
func (v *validator) holds(t typeSet, c *checked) bool {
	switch c.value.(type) {
	case nil:
		return t&nullType != 0
	case bool:
		return t&booleanType != 0
	case string:
		return t&stringType != 0
	case []any:
		return t&arrayType != 0
	case *object:
		return t&objectType != 0
	case json.Number:
		if t&numberType != 0 || t&integerType == 0 {
			return t&numberType != 0
		}
		exact, ok := v.number(c)
		return ok && exact.IsInt()
	}
	return false
}

// listed says whether a value, by its canonical text, is in every list.
func (v *validator) listed(n *node, c *checked) bool {
	text := v.canonical(c)
	for _, list := range n.lists {
		if len(text) > list.longest {
			return false
		}
		v.work -= size(len(text))
		if v.work < 0 || !list.texts[text] {
			return false
		}
	}
	return true
}

func (v *validator) checkInPlace(n *node, c *checked) *Error {
	if n.ref != nil {
		if err := v.checkIn(n.ref, c); err != nil {
			return err
		}
	}
	for _, sub := range n.allOf {
		if err := v.checkIn(sub, c); err != nil {
			return err
		}
	}
	if len(n.anyOf) > 0 && v.fitting(n.anyOf, c, 1) == 0 {
		return n.fail("anyOf", "no value was found that fits one of its schemas and all else")
	}
	if len(n.oneOf) > 0 && v.fitting(n.oneOf, c, 2) != 1 {
		return n.fail("oneOf", "no value was found that fits exactly one of its schemas and all else")
	}
	if n.not != nil && v.checkIn(n.not, c) == nil {
		return n.fail("not", "no value was found that fits all else but not this")
	}
	if v.work < 0 {
		return v.tooMuch(n)
	}
	return nil
}

// fitting returns how many of the schemas a value fits, counting up to enough.
func (v *validator) fitting(list []*node, c *checked, enough int) (fit int) {
	for _, sub := range list {
		if v.checkIn(sub, c) == nil {
			if fit++; fit == enough {
				break
			}
		}
	}
	return fit
}

func (v *validator) checkNumber(n *node, c *checked) *Error {
	if n.minimum == nil && n.exclusiveMinimum == nil && n.maximum == nil && n.exclusiveMaximum == nil && n.multipleOf == nil {
		return nil
	}
	exact, ok := v.number(c)
	if !ok {
		return n.fail("", "a number was made that is too long")
	}
	keyword := ""
	switch {
	case n.minimum != nil && exact.Cmp(n.minimum) < 0:
		keyword = "minimum"
	case n.exclusiveMinimum != nil && exact.Cmp(n.exclusiveMinimum) <= 0:
		keyword = "exclusiveMinimum"
	case n.maximum != nil && exact.Cmp(n.maximum) > 0:
		keyword = "maximum"
	case n.exclusiveMaximum != nil && exact.Cmp(n.exclusiveMaximum) >= 0:
		keyword = "exclusiveMaximum"
	case n.multipleOf != nil && !v.isMultiple(exact, n.multipleOf):
		keyword = "multipleOf"
	}
	if keyword != "" {
		return n.fail(keyword, "no number was found that fits this and all else")
	}
	return nil
}

// isMultiple says whether a is one of b. Long division takes the square of the
// digits.
func (v *validator) isMultiple(a, b *big.Rat) bool {
	bytes := (a.Num().BitLen() + a.Denom().BitLen() + b.Num().BitLen() + b.Denom().BitLen()) / 8
	v.work -= size(bytes) + bytes*bytes/4096
	return v.work >= 0 && new(big.Rat).Quo(a, b).IsInt()
}

// characters is how many c, a text, has.
func (v *validator) characters(c *checked, text string) int {
	if c.length == 0 && text != "" {
		v.work -= size(len(text))
		c.length = utf8.RuneCountInString(text)
	}
	return c.length
}

func (v *validator) checkText(n *node, c *checked, value string) *Error {
	keyword := ""
	switch {
	case n.minLength != nil && v.characters(c, value) < *n.minLength:
		keyword = "minLength"
	case n.maxLength != nil && v.characters(c, value) > *n.maxLength:
		keyword = "maxLength"
	case n.pattern != nil:
		v.work -= n.pattern.workFor(value)
		if v.work < 0 || !n.pattern.matcher.MatchString(value) {
			keyword = "pattern"
		}
	}
	if keyword != "" {
		return n.fail(keyword, "no text was found that fits this and all else")
	}
	return nil
}

func (v *validator) checkArray(n *node, value []any) *Error {
	keyword := ""
	v.work -= size(len(value))
	switch {
	case n.minItems != nil && len(value) < *n.minItems:
		keyword = "minItems"
	case n.maxItems != nil && len(value) > *n.maxItems:
		keyword = "maxItems"
	case n.uniqueItems && v.hasEqual(value):
		keyword = "uniqueItems"
	}
	if keyword != "" {
		return n.fail(keyword, "no array was found that fits this and all else")
	}
	for i, item := range value {
		if sub := n.item(i); sub != nil {
			if err := v.check(sub, item); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasEqual says whether a list has equal items, and also when its work is done.
func (v *validator) hasEqual(list []any) bool {
	had := make(map[string]bool, len(list))
	for _, item := range list {
		key := canonical(item)
		if v.work -= size(len(key)); v.work < 0 || had[key] {
			return true
		}
		had[key] = true
	}
	return false
}

func (v *validator) checkObject(n *node, value *object) *Error {
	if n.minProperties != nil && len(value.keys) < *n.minProperties {
		return n.fail("minProperties", "no object was found that fits this and all else")
	}
	if n.maxProperties != nil && len(value.keys) > *n.maxProperties {
		return n.fail("maxProperties", "no object was found that fits this and all else")
	}
	v.work -= size(4 * len(n.required))
	for _, name := range n.required {
		if _, ok := value.values[name]; !ok {
			return n.fail("required", "no object was found that has %q and fits all else", name)
		}
	}
	var failed *Error
	for _, name := range value.keys {
		v.work -= 1 + n.patternWork(name)
		if v.work < 0 {
			return v.tooMuch(n)
		}
		n.property(name, func(sub *node) {
			if failed == nil {
				failed = v.check(sub, value.values[name])
			}
		})
	}
	return failed
}

// workFor is what matching a text costs.
func (p *pattern) workFor(text string) int { return 1 + len(text)*(p.size+8)/64 }

// patternWork is what finding a property's schemas costs.
func (n *node) patternWork(name string) (work int) {
	for _, p := range n.patternProperties {
		work += p.workFor(name)
	}
	return work
}
