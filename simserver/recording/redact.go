package recording

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Redacted stands where something was taken out.
const Redacted = "[redacted]"

// Redact takes the client's credentials out: the values of headers, query
// parameters and fields of the request's body whose names say that they are such,
// and every other place, split over segments or not, in which one of these values
// stands again, such as an error that repeats the key. What a message says is kept
// otherwise. What can't be searched is taken out whole: a request body that is not
// JSON, and a response whose content encoding can't be taken off, which leaves the
// exchange incomplete. Encode calls it.
func (e *Exchange) Redact() {
	var found secrets
	if e.Response != nil {
		if err := e.Response.Decode(); err != nil {
			e.Response.Segments = nil
			e.incomplete(err.Error() + ": its body is not kept")
		}
	}
	q := &e.Request
	for name, values := range q.Headers {
		for _, v := range values {
			switch {
			case identityHeader(name):
				found.addPart(v)
			case sensitiveHeader(name):
				found.addHeader(v)
			}
		}
	}
	q.Path = redactQuery(q.Path, &found)
	body, isJSON := decode(q.Body)
	if isJSON {
		body = redactFields(body, false, &found)
	}

	found.finish()
	redactHeaders(q.Headers, &found)
	q.Path = found.text(q.Path)
	q.Body = nil
	if isJSON {
		if encoded, err := marshal(redactTexts(body, &found)); err == nil {
			q.Body = encoded
		}
	}
	e.Upstream, e.End.Reason = found.text(e.Upstream), found.text(e.End.Reason)
	if e.Response != nil {
		redactHeaders(e.Response.Headers, &found)
		e.Response.Segments = found.segments(e.Response.Segments)
	}
}

// incomplete adds a reason why an exchange is not complete.
func (e *Exchange) incomplete(reason string) {
	if !e.End.Complete && e.End.Reason != "" {
		reason = e.End.Reason + "; " + reason
	}
	e.End.Complete, e.End.Reason = false, reason
}

func redactHeaders(headers map[string][]string, found *secrets) {
	for name, values := range headers {
		hidden := sensitiveHeader(name)
		for i, v := range values {
			values[i] = found.text(v)
			if hidden {
				values[i] = Redacted
			}
		}
	}
}

// redactQuery takes the values of a path's sensitive parameters out.
func redactQuery(path string, found *secrets) string {
	before, query, has := strings.Cut(path, "?")
	if !has {
		return path
	}
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		name, value, _ := strings.Cut(p, "=")
		plain, err := url.QueryUnescape(name)
		if err == nil && !sensitiveParameter(plain) {
			continue
		}
		found.add(value)
		if plain, err := url.QueryUnescape(value); err == nil {
			found.add(plain)
		}
		parameters[i] = name + "=" + Redacted
	}
	return before + "?" + strings.Join(parameters, "&")
}

// decode takes a whole JSON body.
func decode(data []byte) (any, bool) {
	var body any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&body) != nil || d.More() {
		return nil, false
	}
	return body, true
}

// redactFields takes out what stands under sensitive names, however deep.
func redactFields(v any, hidden bool, found *secrets) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if properties, ok := value.(map[string]any); ok && !hidden && (name == "properties" || name == "$defs") {
				redactProperties(properties, found)
				continue
			}
			v[name] = redactFields(value, hidden || sensitiveMember(v, name), found)
		}
	case []any:
		for i := range v {
			v[i] = redactFields(v[i], hidden, found)
		}
	case string:
		if hidden {
			found.addHeader(v)
			return Redacted
		}
	case json.Number:
		if hidden {
			found.add(v.String())
			return Redacted
		}
	}
	return v
}

// schemaValues are the keywords of a JSON schema that hold values of what it is for.
var schemaValues = []string{"const", "default", "example", "examples", "value"}

// redactProperties does it to the properties of a JSON schema: the schema of one
// with a sensitive name is kept, but for such values. What is not a schema is as
// any field.
func redactProperties(properties map[string]any, found *secrets) {
	for name, value := range properties {
		hidden := sensitiveMember(properties, name)
		schema, is := value.(map[string]any)
		for _, keyword := range schemaValues {
			if example, has := schema[keyword]; has && hidden {
				schema[keyword] = redactFields(example, true, found)
			}
		}
		properties[name] = redactFields(value, hidden && !is, found)
	}
}

// redactTexts takes the secrets out of all texts.
func redactTexts(v any, found *secrets) any {
	switch v := v.(type) {
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, value := range v {
			clean[found.text(name)] = redactTexts(value, found)
		}
		return clean
	case []any:
		for i := range v {
			v[i] = redactTexts(v[i], found)
		}
	case string:
		return found.text(v)
	}
	return v
}

// secrets are values that must not be in the file, in every form in which they may
// stand in it.
type secrets struct{ forms []string }

// leastSecret is how long a value must be to be looked for where its name does not
// say what it is: a shorter one, such as the key EMPTY, stands in ordinary text.
const leastSecret = 8

func (s *secrets) add(value string) {
	if len(value) < leastSecret || strings.Contains(Redacted, value) {
		return
	}
	s.forms = append(s.forms, value, url.QueryEscape(value), url.PathEscape(value))
	if quoted, err := json.Marshal(value); err == nil {
		s.forms = append(s.forms, string(quoted[1:len(quoted)-1]))
	}
	if quoted, err := marshal(value); err == nil {
		inner := string(quoted[1 : len(quoted)-1])
		s.forms = append(s.forms, inner, strings.ReplaceAll(inner, "/", `\/`))
	}
}

// addHeader adds a header's value, whole and what stands in it: a credential
// behind its scheme, each cookie, the password in basic authentication.
func (s *secrets) addHeader(value string) {
	s.add(value)
	scheme, rest, has := strings.Cut(value, " ")
	if has {
		s.add(strings.TrimSpace(rest))
	}
	if decoded, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
		user, password, _ := strings.Cut(string(decoded), ":")
		s.addPart(user)
		s.add(password)
	}
	for _, part := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ;,=\"", r) }) {
		s.addPart(part)
	}
}

// addPart adds what might as well be a word: only if it is long or has a digit.
func (s *secrets) addPart(part string) {
	if len(part) >= 2*leastSecret || strings.ContainsAny(part, "0123456789") {
		s.add(part)
	}
}

// finish makes ready to look for them: the longest first, since one may be a part
// of another.
func (s *secrets) finish() {
	slices.SortFunc(s.forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	s.forms = slices.Compact(s.forms)
}

func (s *secrets) text(text string) string {
	for _, form := range s.forms {
		text = strings.ReplaceAll(text, form, Redacted)
	}
	return text
}

// segments takes the secrets out of a body. What stands for one is in the segment
// in which it starts.
func (s *secrets) segments(in []Segment) []Segment {
	var whole []byte
	for _, segment := range in {
		whole = append(whole, segment.Data...)
	}
	hidden := s.places(whole)
	if len(hidden) == 0 {
		return in
	}
	out, at := make([]Segment, 0, len(in)), 0
	for _, segment := range in {
		end := at + len(segment.Data)
		kept := Segment{AtNS: segment.AtNS}
		for at < end {
			if len(hidden) == 0 || hidden[0].start >= end {
				kept.Data = append(kept.Data, whole[at:end]...)
				at = end
				break
			}
			h := hidden[0]
			if at <= h.start {
				kept.Data = append(append(kept.Data, whole[at:h.start]...), Redacted...)
			}
			at = min(h.end, end)
			if at == h.end {
				hidden = hidden[1:]
			}
		}
		out = append(out, kept)
	}
	return out
}

// span is a piece of a body.
type span struct{ start, end int }

// places finds the secrets in a body: in order, apart from each other.
func (s *secrets) places(body []byte) (found []span) {
	for _, form := range s.forms {
		for at := 0; ; {
			i := bytes.Index(body[at:], []byte(form))
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(form)})
			at += i + len(form)
		}
	}
	slices.SortFunc(found, func(a, b span) int { return a.start - b.start })
	apart := found[:0]
	for _, f := range found {
		if last := len(apart) - 1; last >= 0 && f.start < apart[last].end {
			apart[last].end = max(apart[last].end, f.end)
			continue
		}
		apart = append(apart, f)
	}
	return apart
}
