package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestUnreachableBySeveral: the entries' conditions, and what is said of the last,
// which is d; the others are a, b and c.
func TestUnreachableBySeveral(t *testing.T) {
	const never = "can never match, since none of its exact texts meets its other conditions"
	by := func(names string) string {
		return "is never used, since every text that it matches is matched by " + names + " before it"
	}
	for _, test := range []struct{ conditions, want string }{
		{"exact: foo, contains: bar", never},
		{"exact: foo, starts_with: fo, contains: o, regex: o$", ""},
		{"exact: foo, starts_with: o", never},
		{"exact: [foo, bar], regex: ['x', '^..$']", never},
		{"exact: [foo, bar], regex: ['x', '^b']", ""},
		{"exact: bar; exact: [foo, bar], regex: ['x', '^b']", by("a")},
		{"exact: one; exact: two; exact: [one, two]", by("a and b")},
		{"exact: one; exact: two; exact: [one, two, three]", ""},
		{"exact: [one, x]; regex: w; starts_with: th; exact: [one, two, three]", by("a, b and c")},
		{"exact: [one, xy], contains: y; exact: two; exact: [one, two]", ""},
		{"starts_with: a; starts_with: b; starts_with: [ax, by]", by("a and b")},
		{"starts_with: a; starts_with: b; starts_with: [ax, by, c]", ""},
		{"contains: a; regex: b; regex: [b, c], contains: [xax, y]", ""},
		{"contains: a; regex: b; regex: b, contains: [xax, y]", by("b")},
		{"contains: a; contains: b; regex: c, contains: [xax, bb]", by("a and b")},
		{"regex: c; regex: b; regex: [b, c]", by("a and b")},
	} {
		var file strings.Builder
		file.WriteString("version: 1\nresponses:\n")
		conditions := strings.Split(test.conditions, ";")
		for i, c := range conditions {
			id := "abcd"[i : i+1]
			if i == len(conditions)-1 {
				id = "d"
			}
			fmt.Fprintf(&file, "  - {id: %s, content: x, match: {%s}}\n", id, c)
		}
		file.WriteString("default: {content: x}\n")
		r, err := ParseResponses("r.yml", []byte(file.String()))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if test.want != "" {
			want = []string{fmt.Sprintf("r.yml:%d: responses[%d]: d %s", len(conditions)+2, len(conditions)-1, test.want)}
		}
		if !slices.Equal(r.Warnings, want) {
			t.Errorf("%s: warnings %q, want %q", test.conditions, r.Warnings, want)
		}
	}
}

// TestUnreachableInLargeFiles: texts are looked up, and where there is too much to
// compare it says so.
func TestUnreachableInLargeFiles(t *testing.T) {
	const n = 20_000
	entries := make([]Response, n)
	for i := range entries {
		entries[i] = Response{Where: fmt.Sprint("at ", i), ID: fmt.Sprint(i), Match: Match{Exact: []string{fmt.Sprint(i)}}}
	}
	entries[n-1].Match.Exact = []string{"0", "1", "2", "3", "4", "5"}
	want := []string{"at 19999: 19999 is never used, since every text that it matches is matched by 0, 1, 2, 3 and 2 others before it"}
	if got := unreachable(entries); !slices.Equal(got, want) {
		t.Errorf("warnings %q, want %q", got, want)
	}
	for i := range entries {
		entries[i].Match = Match{Contains: []string{fmt.Sprint("<", i, ">")}}
	}
	entries[1].Match = Match{Exact: []string{"no"}, Contains: []string{"yes"}}
	got := unreachable(entries)
	if len(got) != 2 || !strings.HasPrefix(got[0], "at 1: 1 can never match") {
		t.Fatalf("warnings %q", got)
	}
	var at, named, left int
	if _, err := fmt.Sscanf(got[1], "at %d: the search for entries that are never used ended at %d, since there is too much to compare; "+
		"it and the %d entries after it were not looked at", &at, &named, &left); err != nil || at != named || at+left != n-1 || at < 1000 {
		t.Errorf("%q: %v", got[1], err)
	}
}
