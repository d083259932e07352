package config

import (
	"strings"
	"testing"
)

// model is a model without a fault; each case replaces one line of it.
const model = `models:
  - name: m
    context_length: 4096
    tokenizer: regex
    engine: fixed_rate
    latency:
      overhead_ms: 2
      prefill_tokens_per_second: 100000
      itl_ms: 4
`

func TestErrors(t *testing.T) {
	replaced := func(old, with string) string {
		if !strings.Contains(model, old) {
			t.Fatalf("the model holds no %q", old)
		}
		return strings.Replace(model, old, with, 1)
	}
	const latencyKeys = "overhead_ms, prefill_tokens_per_second, itl_ms"
	const fixedKeys = "name, context_length, tokenizer, split_characters, engine, template_overhead, replicas, route, latency"
	const allKeys = fixedKeys +
		", hardware, tensor_parallel, profile, weights, shape, kv_cache, scheduler, efficiency"
	const instantKeys = "name, context_length, tokenizer, split_characters, engine, template_overhead, replicas, route"
	tests := []struct{ name, file, want string }{
		// The file as a whole.
		{"empty", "", "m.yml:1: the file is empty, must have a list called models"},
		{"comments only", "# nothing\n", "m.yml:1: the file is empty, must have a list called models"},
		{"null", "---\n", "m.yml:2: the file is empty, must be a section with the keys hardware, models, time_scale"},
		{"text", "hello", `m.yml:1: the file is the text "hello", must be a section with the keys hardware, models, time_scale`},
		{"list", "- name: m", "m.yml:1: the file is a list, must be a section with the keys hardware, models, time_scale"},
		{"not YAML", "models:\n  - name: [\n", "m.yml:2: this is not YAML: did not find expected node content"},
		{"control characters", "models: \x01", "m.yml: this is not YAML: control characters are not allowed"},
		{"several documents", model + "---\n" + model, "m.yml:10: a second YAML document starts here, must be one only"},
		{"broken second document", model + "---\n[", "m.yml:11: this is not YAML: did not find expected node content"},
		{"unknown top key", model + "replicas: 2\n", "m.yml:10: replicas: unknown key; known here: hardware, models, time_scale"},
		{"misspelt top key", "model: []\n", "m.yml:1: model: unknown key, did you mean models? Known here: hardware, models, time_scale\n" +
			"m.yml:1: models: missing, must be a list of models"},
		{"no models", "models: []\n", "m.yml:1: models: the list is empty, must be a list of models"},
		{"null models", "models:\n", "m.yml:1: models: is empty, must be a list of models"},
		{"models a section", "models: {}\n", "m.yml:1: models: is a section, must be a list of models"},
		{"model as text", "models: [sim]\n", `m.yml:1: models[0]: is the text "sim", must be a section with the keys ` + instantKeys},

		// References.
		{
			"alias", replaced("tokenizer: regex", "tokenizer: &r regex\n    # …") + "  - name: *r\n",
			"m.yml:11: the alias *r is not supported, must be written out",
		},
		{"alias of itself", "models: &m [*m]\n", "m.yml:1: the alias *m is not supported, must be written out"},
		{
			"merge key", replaced("name: m", "<<: {name: m}"),
			"m.yml:2: the merge key << is not supported, its keys must be written out",
		},

		// Keys.
		{
			"unknown key", replaced("itl_ms: 4", "itl_ms: 4\n      jitter: 1"),
			"m.yml:10: models[0].latency.jitter: unknown key; known here: " + latencyKeys,
		},
		{
			"misspelt key", replaced("itl_ms", "itl_m"),
			"m.yml:7: models[0].latency.itl_ms: missing, must be a number from 0 to 60000\n" +
				"m.yml:9: models[0].latency.itl_m: unknown key, did you mean itl_ms? Known here: " + latencyKeys,
		},
		{
			"a section of another engine", model + "    kv_cache: {block_size: 16}\n",
			"m.yml:10: models[0].kv_cache: unknown key; known here for engine fixed_rate: " + fixedKeys,
		},
		{
			"a section for no section", replaced("fixed_rate", "instant"),
			"m.yml:6: models[0].latency: unknown key; known here for engine instant: " + instantKeys,
		},
		{
			"key twice", replaced("itl_ms: 4", "itl_ms: 4\n      overhead_ms: 3"),
			"m.yml:10: models[0].latency.overhead_ms: duplicate key, first on line 7, must be there once",
		},
		{
			"key of no text", replaced("name: m", "? [a]\n    : b\n    name: m"),
			"m.yml:2: models[0]: a key here is a list, must be plain text",
		},

		// What is missing.
		{
			"no name", replaced("name: m\n    context_length: 4096", "context_length: 4096"),
			"m.yml:2: models[0].name: missing, must be the model's name",
		},
		{"no section", replaced(model[strings.Index(model, "    latency"):], ""), "m.yml:2: models[0].latency: missing, must be a section with the keys " + latencyKeys},
		{
			"empty section", replaced(model[strings.Index(model, "      overhead"):], ""),
			"m.yml:6: models[0].latency: is empty, must be a section with the keys " + latencyKeys,
		},
		{
			"no engine", replaced("    engine: fixed_rate\n", ""),
			"m.yml:2: models[0].engine: missing, must be instant, fixed_rate or scheduler",
		},
		{
			"no engine, and a key of none", replaced("engine: fixed_rate", "shards: 2\n    kv_cache: {blocks: 1}"),
			"m.yml:2: models[0].engine: missing, must be instant, fixed_rate or scheduler\n" +
				"m.yml:5: models[0].shards: unknown key; known here: " + allKeys,
		},

		// Text.
		{"name a number", replaced("name: m", "name: 7"), "m.yml:2: models[0].name: is the number 7, must be the model's name, as text"},
		{"name a list", replaced("name: m", "name: [m]"), "m.yml:2: models[0].name: is a list, must be the model's name, as text"},
		{"name blank", replaced("name: m", `name: " "`), "m.yml:2: models[0].name: is blank, must be the model's name"},
		{"name with a space", replaced("name: m", `name: "m\n"`), `m.yml:2: models[0].name: "m\n" is not possible, must be without spaces and control characters`},
		{
			"name twice", model + "  - {name: m, context_length: 1, tokenizer: regex, engine: instant}\n",
			"m.yml:10: models[1].name: m is the name of the model on line 2 already, must be unique",
		},
		{"unknown engine", replaced("fixed_rate", "vllm"), `m.yml:5: models[0].engine: "vllm" is not known, must be instant, fixed_rate or scheduler`},
		{
			"misspelt engine", replaced("fixed_rate", "fixed-rate"),
			`m.yml:5: models[0].engine: "fixed-rate" is not known, must be instant, fixed_rate or scheduler, did you mean fixed_rate?`,
		},
		{"unknown tokenizer", replaced("regex", "gpt2"), `m.yml:4: models[0].tokenizer: "gpt2" is not known, must be regex, cl100k or o200k`},

		// Numbers.
		{"negative", replaced("itl_ms: 4", "itl_ms: -4"), "m.yml:9: models[0].latency.itl_ms: -4 is not possible, must be 0 or more"},
		{"zero rate", replaced("100000", "0"), "m.yml:8: models[0].latency.prefill_tokens_per_second: 0 is not possible, must be 0.01 or more"},
		{"too large", replaced("itl_ms: 4", "itl_ms: 1e9"), "m.yml:9: models[0].latency.itl_ms: 1e9 is not possible, must be 60000 or less"},
		{"NaN", replaced("itl_ms: 4", "itl_ms: .nan"), "m.yml:9: models[0].latency.itl_ms: .nan is not possible, must be a number from 0 to 60000"},
		{"infinite", replaced("overhead_ms: 2", "overhead_ms: .inf"), "m.yml:7: models[0].latency.overhead_ms: .inf is not possible, must be a number from 0 to 3600000"},
		{"text for a number", replaced("itl_ms: 4", "itl_ms: 4ms"), `m.yml:9: models[0].latency.itl_ms: is the text "4ms", must be a number from 0 to 60000`},
		{"a tag that lies", replaced("itl_ms: 4", "itl_ms: !!float four"), "m.yml:9: models[0].latency.itl_ms: is the number four, must be a number from 0 to 60000"},
		{"true for a number", replaced("itl_ms: 4", "itl_ms: true"), "m.yml:9: models[0].latency.itl_ms: is true, must be a number from 0 to 60000"},
		{"no number", replaced("itl_ms: 4", "itl_ms:"), "m.yml:9: models[0].latency.itl_ms: is empty, must be a number from 0 to 60000"},
		{"a fraction of a token", replaced("4096", "4096.5"), "m.yml:3: models[0].context_length: 4096.5 is not possible, must be a whole number"},
		{"context of none", replaced("4096", "0"), "m.yml:3: models[0].context_length: 0 is not possible, must be 1 or more"},
		{"context past uint64", replaced("4096", "99999999999999999999"), "m.yml:3: models[0].context_length: 99999999999999999999 is not possible, must be 16777216 or less"},
		{
			"template", model + "    template_overhead: {tokens_per_message: -1, jitter: 2}\n",
			"m.yml:10: models[0].template_overhead.jitter: unknown key; known here: tokens_per_message, tokens_per_request\n" +
				"m.yml:10: models[0].template_overhead.tokens_per_message: -1 is not possible, must be 0 or more",
		},

		// Replicas and time.
		{"no replica", replaced("engine:", "replicas: 0\n    engine:"), "m.yml:5: models[0].replicas: 0 is not possible, must be 1 or more"},
		{"too many replicas", replaced("engine:", "replicas: 257\n    engine:"), "m.yml:5: models[0].replicas: 257 is not possible, must be 256 or less"},
		{
			"misspelt route", replaced("engine:", "replicas: 2\n    route: round-robin\n    engine:"),
			`m.yml:6: models[0].route: "round-robin" is not known, must be round_robin, least_loaded or prefix_affinity, did you mean round_robin?`,
		},
		{
			"route of nobody", replaced("engine:", "route: least_loaded\n    engine:"),
			"m.yml:5: models[0].route: has no effect on one replica, must be left out or replicas given beside it",
		},
		{"stopped time", "time_scale: 0\n" + model, "m.yml:1: time_scale: 0 is not possible, must be 0.001 or more"},
		{"time too fast", "time_scale: 1e4\n" + model, "m.yml:1: time_scale: 1e4 is not possible, must be 1000 or less"},
		{"time as text", "time_scale: fast\n" + model, `m.yml:1: time_scale: is the text "fast", must be a number from 0.001 to 1000`},
		{"a model's own time", replaced("engine:", "time_scale: 2\n    engine:"), "m.yml:5: models[0].time_scale: unknown key; known here for engine fixed_rate: " + fixedKeys},

		// All at once, by line.
		{
			"several", replaced("name: m", "name: 7") + "      itl: 4\n  - 3\n",
			"m.yml:2: models[0].name: is the number 7, must be the model's name, as text\n" +
				"m.yml:10: models[0].latency.itl: unknown key; known here: " + latencyKeys + "\n" +
				"m.yml:11: models[1]: is the number 3, must be a section with the keys " + instantKeys,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { wantError(t, tc.file, tc.want) })
	}
}

// wantError expects a file to be refused with exactly this error.
func wantError(t *testing.T, file, want string) {
	t.Helper()
	c, err := Parse("m.yml", []byte(file))
	if err == nil {
		t.Fatalf("no error, but %s", dump(c))
	}
	if err.Error() != want {
		t.Errorf("error reads\n%s\nwant\n%s", err, want)
	}
}
