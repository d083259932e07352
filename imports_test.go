package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowedImports says which packages of this module each may import. What every
// package may import, internal/…, is left out. A package that is not listed
// here is a mistake: either it belongs elsewhere, or this list must say what it
// is for.
var allowedImports = map[string][]string{
	".": {
		"bench", "bench/arrival", "bench/load", "bench/openai", "bench/report", "bench/selftest", "bench/summary",
		"bench/transport", "bench/workload", "simserver", "simserver/config", "simserver/recorder", "experiments", "experiments/simulate",
	},

	"experiments": {
		"bench", "bench/arrival", "bench/load", "bench/record", "bench/report", "bench/summary", "bench/workload",
		"experiments/plot", "experiments/simulate", "simserver/config",
	},
	"experiments/plot": {},
	"experiments/simulate": {
		"bench", "bench/load", "bench/record", "bench/report", "bench/summary", "bench/workload",
		"simserver", "simserver/config", "simserver/engine", "simserver/eventlog", "simserver/sched", "simserver/virtual",
	},

	"bench": {
		"bench/arrival", "bench/health", "bench/load", "bench/openai", "bench/record", "bench/report",
		"bench/sse", "bench/summary", "bench/transport", "bench/workload",
	},
	"bench/selftest": {
		"bench/arrival", "bench/health", "bench/load", "bench/openai", "bench/record", "bench/transport", "bench/workload",
	},
	"bench/arrival":   {},
	"bench/workload":  {},
	"bench/sse":       {},
	"bench/record":    {},
	"bench/openai":    {"bench/sse"},
	"bench/transport": {},
	"bench/health":    {},
	"bench/load": {
		"bench/arrival", "bench/workload", "bench/openai", "bench/transport", "bench/health", "bench/record",
	},
	"bench/summary": {"bench/record"},
	"bench/report":  {"bench/summary"},

	"simserver": {
		"simserver/api", "simserver/config", "simserver/conn", "simserver/engine", "simserver/eventlog", "simserver/llm", "simserver/metrics", "simserver/recording", "simserver/sched",
	},
	"simserver/plan":       {},
	"simserver/llm":        {"simserver/plan", "simserver/llm/schema"},
	"simserver/llm/schema": {},
	"simserver/sched":      {},
	"simserver/engine":     {"simserver/plan", "simserver/sched"},
	"simserver/virtual":    {"simserver/engine", "simserver/sched", "simserver/plan"},
	"simserver/eventlog":   {"simserver/engine", "simserver/virtual", "simserver/sched"},
	"simserver/conn":       {},
	"simserver/api":        {"simserver/plan", "simserver/llm", "simserver/engine", "simserver/conn", "simserver/metrics"},
	"simserver/metrics":    {},
	"simserver/config":     {"simserver/recording"},
	"simserver/recording":  {},
	"simserver/recorder":   {"simserver/recording"},
	"simserver/simtest":    {"simserver", "simserver/config"},

	"internal/child":     {},
	"internal/sleep":     {},
	"internal/splitmix":  {},
	"internal/hist":      {},
	"internal/wire":      {},
	"internal/wholefile": {},
}

const module = "llmsim-bench"

func TestImportsKeepTheLayout(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "scripts") {
			return filepath.SkipDir // scripts/ holds programs of their own
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		pkg := path.Dir(filepath.ToSlash(name))
		allowed, listed := allowedImports[pkg]
		if !listed && !seen[pkg] {
			t.Errorf("package %s is not listed in allowedImports", pkg)
		}
		seen[pkg] = true
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			ours, isOurs := strings.CutPrefix(imported, module+"/")
			if isOurs && !strings.HasPrefix(ours, "internal/") && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s, which %s may not", name, ours, pkg)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range allowedImports {
		if !seen[pkg] {
			t.Errorf("allowedImports lists %s, which has no Go files", pkg)
		}
	}
}
