package api

import "unicode/utf8"

// appendQuoted appends s as encoding/json quotes it without HTML escaping.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	plain := 0 // what stands from here on in JSON as it is
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				dst = append(dst, s[plain:i]...)
				dst = appendEscaped(dst, c)
				plain = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		escape := ""
		switch {
		case r == utf8.RuneError && size == 1: // an invalid byte
			escape = `\ufffd`
		case r == '\u2028': // JavaScript takes these two for line ends
			escape = `\u2028`
		case r == '\u2029':
			escape = `\u2029`
		}
		if escape != "" {
			dst = append(dst, s[plain:i]...)
			dst = append(dst, escape...)
			plain = i + size
		}
		i += size
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

// appendEscaped appends an ASCII character that JSON escapes.
func appendEscaped(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}
