package schema

import (
	"encoding/json"
	"unicode/utf8"
)

// validator checks values. It gives up, and then says that a value does not fit,
// when its work is done.
type validator struct{ work int }

// check returns why a value does not fit a schema; nil: it does. Formats are not
// checked.
func (v *validator) check(n *node, value any) *Error {
	if v.work--; v.work < 0 {
		return n.fail("", "checking a value takes too long, must be simpler")
	}
	if n.never {
		return n.fail("", "it is false, so that no value fits")
	}
	if n.types != 0 && !n.types.holds(value) {
		return n.fail("type", "a value was found that is not %s", n.types)
	}
	if len(n.lists) > 0 && !n.listed(canonical(value)) {
		return n.fail("enum", "no value of it was found that fits all else")
	}
	if err := v.checkInPlace(n, value); err != nil {
		return err
	}
	switch value := value.(type) {
	case json.Number:
		return v.checkNumber(n, value)
	case string:
		return v.checkText(n, value)
	case []any:
		return v.checkArray(n, value)
	case *object:
		return v.checkObject(n, value)
	}
	return nil
}

// holds says whether a value is of one of the types.
func (t typeSet) holds(value any) bool {
	switch value := value.(type) {
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
		exact, ok := number(value)
		return t&numberType != 0 || t&integerType != 0 && ok && exact.IsInt()
	}
	return false
}

// listed says whether a value, by its canonical text, is in every list.
func (n *node) listed(text string) bool {
	for _, list := range n.lists {
		if !list.texts[text] {
			return false
		}
	}
	return true
}

func (v *validator) checkInPlace(n *node, value any) *Error {
	if n.ref != nil {
		if err := v.check(n.ref, value); err != nil {
			return err
		}
	}
	for _, sub := range n.allOf {
		if err := v.check(sub, value); err != nil {
			return err
		}
	}
	if len(n.anyOf) > 0 && v.fitting(n.anyOf, value, 1) == 0 {
		return n.fail("anyOf", "no value was found that fits one of its schemas and all else")
	}
	if len(n.oneOf) > 0 && v.fitting(n.oneOf, value, 2) != 1 {
		return n.fail("oneOf", "no value was found that fits exactly one of its schemas and all else")
	}
	if n.not != nil && v.check(n.not, value) == nil {
		return n.fail("not", "no value was found that fits all else but not this")
	}
	if v.work < 0 {
		return n.fail("", "checking a value takes too long, must be simpler")
	}
	return nil
}

// fitting returns how many of the schemas a value fits, counting up to enough.
func (v *validator) fitting(list []*node, value any, enough int) (fit int) {
	for _, sub := range list {
		if v.check(sub, value) == nil {
			if fit++; fit == enough {
				break
			}
		}
	}
	return fit
}

func (v *validator) checkNumber(n *node, value json.Number) *Error {
	exact, ok := number(value)
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
	case n.multipleOf != nil && !exact.Quo(exact, n.multipleOf).IsInt():
		keyword = "multipleOf"
	}
	if keyword != "" {
		return n.fail(keyword, "no number was found that fits this and all else")
	}
	return nil
}

func (v *validator) checkText(n *node, value string) *Error {
	keyword := ""
	length := utf8.RuneCountInString(value)
	switch {
	case n.minLength != nil && length < *n.minLength:
		keyword = "minLength"
	case n.maxLength != nil && length > *n.maxLength:
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
	switch {
	case n.minItems != nil && len(value) < *n.minItems:
		keyword = "minItems"
	case n.maxItems != nil && len(value) > *n.maxItems:
		keyword = "maxItems"
	case n.uniqueItems && hasEqual(value):
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

func hasEqual(list []any) bool {
	had := make(map[string]bool, len(list))
	for _, item := range list {
		key := canonical(item)
		if had[key] {
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
	for _, name := range n.required {
		if _, ok := value.values[name]; !ok {
			return n.fail("required", "no object was found that has %q and fits all else", name)
		}
	}
	var failed *Error
	for _, name := range value.keys {
		v.work -= n.patternWork(name)
		if v.work < 0 {
			return n.fail("", "checking a value takes too long, must be simpler")
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
