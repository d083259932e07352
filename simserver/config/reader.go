package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// reader reads one YAML file and collects what is wrong with it. It works on
// YAML nodes, since only they know their lines.
type reader struct {
	file     string
	problems []problem
}

// problem is one error of a file.
type problem struct {
	line int
	text string
}

// report notes what is wrong with the field at path; path may be empty. A line
// of 0 is one that is not known.
func (r *reader) report(line int, path, format string, args ...any) {
	r.problems = append(r.problems, problem{line, r.where(line, path) + ": " + fmt.Sprintf(format, args...)})
}

// where says where the field at path is: what an error about it starts with.
func (r *reader) where(line int, path string) string {
	where := r.file
	if line > 0 {
		where = fmt.Sprintf("%s:%d", r.file, line)
	}
	if path != "" {
		where += ": " + path
	}
	return where
}

// err returns all that was reported as one error, in the order of the lines.
func (r *reader) err() error {
	slices.SortStableFunc(r.problems, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	errs := make([]error, len(r.problems))
	for i, p := range r.problems {
		errs[i] = errors.New(p.text)
	}
	return errors.Join(errs...)
}

// document returns the root of the file's only document; nil: reported. A file
// must have what is wanted.
func (r *reader) document(data []byte, want string) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF):
		r.report(1, "", "the file is empty, must have %s", want)
		return nil
	case err != nil:
		r.reportSyntax(err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		r.report(second.Line, "", "a second YAML document starts here, must be one only")
		return nil
	case !errors.Is(err, io.EOF):
		r.reportSyntax(err)
		return nil
	}
	if root := first.Content[0]; r.refuseReferences(root) {
		return root
	}
	return nil
}

// yamlError takes apart the text of the YAML library's errors.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (r *reader) reportSyntax(err error) {
	text, line := err.Error(), 0
	if m := yamlError.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		line, _ = strconv.Atoi(m[1]) // no number: line unknown
	}
	r.report(line, "", "this is not YAML: %s", text)
}

// refuseReferences reports every alias and merge key at or below node, and says
// whether there was none. What it lets pass is a tree.
func (r *reader) refuseReferences(node *yaml.Node) bool {
	if node.Kind == yaml.AliasNode {
		r.report(node.Line, "", "the alias *%s is not supported, must be written out", node.Value)
		return false
	}
	if node.ShortTag() == "!!merge" {
		r.report(node.Line, "", "the merge key << is not supported, its keys must be written out")
		return false
	}
	ok := true
	for _, child := range node.Content {
		ok = r.refuseReferences(child) && ok
	}
	return ok
}
