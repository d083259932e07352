package config

import (
	"strings"
	"testing"
)

// batched is a model of the engine scheduler without a fault. Each test puts a
// line of its own into one of the sections.
const batched = `hardware:
  gpu:
    hbm_gib: 80
    memory_bandwidth_gbps: 3000
    peak_tflops: 989
models:
  - name: m
    context_length: 4096
    tokenizer: regex
    engine: scheduler
    hardware: gpu
    weights:
      parameters_billions: 6.74
      bytes_per_parameter: 2
    kv_cache:
      bytes_per_token: 524288
    scheduler:
      profile: article
    latency:
      step_overhead_ms: 0
    efficiency:
      compute: 1
`

// sectionOf says behind which line of batched a further key belongs.
var sectionOf = map[string]string{
	"reserved_gib":                 "    hbm_gib: 80\n",
	"tensor_parallel":              "    hardware: gpu\n",
	"active_parameters_billions":   "      bytes_per_parameter: 2\n",
	"block_size":                   "      bytes_per_token: 524288\n",
	"gpu_memory_utilization":       "      bytes_per_token: 524288\n",
	"watermark":                    "      bytes_per_token: 524288\n",
	"num_gpu_blocks_override":      "      bytes_per_token: 524288\n",
	"max_batch_tokens":             "      profile: article\n",
	"max_num_sequences":            "      profile: article\n",
	"policy":                       "      profile: article\n",
	"enable_prefix_caching":        "      profile: article\n",
	"enable_chunked_prefill":       "      profile: article\n",
	"long_prefill_token_threshold": "      profile: article\n",
	"scheduler_reserve_full_isl":   "      profile: article\n",
	"async_scheduling":             "      profile: article\n",
	"max_waiting":                  "      profile: article\n",
	"sequence_us":                  "      step_overhead_ms: 0\n",
	"prefill_step_ms":              "      step_overhead_ms: 0\n",
	"launch_us":                    "      step_overhead_ms: 0\n",
	"all_reduce_latency_us":        "      step_overhead_ms: 0\n",
	"all_reduce_gbps":              "      step_overhead_ms: 0\n",
	"front_end_ms":                 "      step_overhead_ms: 0\n",
	"overlap_host":                 "      step_overhead_ms: 0\n",
	"memory":                       "      compute: 1\n",
}

// withLine is batched with the line "key: value" in place of that key's, or
// added to the key's section.
func withLine(t *testing.T, line string) string {
	t.Helper()
	key, _, _ := strings.Cut(line, ":")
	lines := strings.SplitAfter(batched, "\n")
	for i, old := range lines {
		name := strings.TrimLeft(old, " ")
		if strings.HasPrefix(name, key+": ") {
			lines[i] = old[:len(old)-len(name)] + line + "\n"
			return strings.Join(lines, "")
		}
	}
	before, found := sectionOf[key]
	if !found {
		t.Fatalf("no section is known for %q", key)
	}
	indent := before[:len(before)-len(strings.TrimLeft(before, " "))]
	return strings.Replace(batched, before, before+indent+line+"\n", 1)
}

// TestSchedulerFigures: each figure that is out of its range, not a number or of
// the wrong kind.
func TestSchedulerFigures(t *testing.T) {
	tests := []struct{ line, want string }{
		// Hardware.
		{"hbm_gib: 0", "m.yml:3: hardware.gpu.hbm_gib: 0 is not possible, must be 0.001 or more"},
		{"hbm_gib: .nan", "m.yml:3: hardware.gpu.hbm_gib: .nan is not possible, must be a number from 0.001 to 1000000"},
		{"memory_bandwidth_gbps: -3000", "m.yml:4: hardware.gpu.memory_bandwidth_gbps: -3000 is not possible, must be 0.001 or more"},
		{"memory_bandwidth_gbps: 1e7", "m.yml:4: hardware.gpu.memory_bandwidth_gbps: 1e7 is not possible, must be 1000000 or less"},
		{"peak_tflops: .inf", "m.yml:5: hardware.gpu.peak_tflops: .inf is not possible, must be a number from 0.001 to 1000000"},
		{"peak_tflops:  fast", `m.yml:5: hardware.gpu.peak_tflops: is the text "fast", must be a number from 0.001 to 1000000`},
		{"reserved_gib: -1", "m.yml:4: hardware.gpu.reserved_gib: -1 is not possible, must be 0 or more"},
		{"reserved_gib: 80", "m.yml:4: hardware.gpu.reserved_gib: 80 is not possible, must be less than hbm_gib, which is 80"},

		// The model's own figures.
		{"tensor_parallel: 0", "m.yml:12: models[0].tensor_parallel: 0 is not possible, must be 1 or more"},
		{"tensor_parallel: 1025", "m.yml:12: models[0].tensor_parallel: 1025 is not possible, must be 1024 or less"},
		{"parameters_billions: 0", "m.yml:13: models[0].weights.parameters_billions: 0 is not possible, must be 0.000000001 or more"},
		{"parameters_billions: 6.74e9", "m.yml:13: models[0].weights.parameters_billions: 6.74e9 is not possible, must be 1000000 or less"},
		{"active_parameters_billions: 0", "m.yml:15: models[0].weights.active_parameters_billions: 0 is not possible, must be 0.000000001 or more"},
		{
			"active_parameters_billions: 7",
			"m.yml:15: models[0].weights.active_parameters_billions: 7 is not possible, must be at most parameters_billions, which is 6.74",
		},
		{"bytes_per_parameter: 0", "m.yml:14: models[0].weights.bytes_per_parameter: 0 is not possible, must be 0.125 or more"},
		{"bytes_per_parameter: 16", "m.yml:14: models[0].weights.bytes_per_parameter: 16 is not possible, must be 8 or less"},

		// The cache.
		{"bytes_per_token: 0", "m.yml:16: models[0].kv_cache.bytes_per_token: 0 is not possible, must be 1 or more"},
		{"bytes_per_token: 0x10000000001", "m.yml:16: models[0].kv_cache.bytes_per_token: 0x10000000001 is not possible, must be 1099511627776 or less"},
		{"bytes_per_token: 1.5", "m.yml:16: models[0].kv_cache.bytes_per_token: 1.5 is not possible, must be a whole number"},
		{"block_size: 0", "m.yml:17: models[0].kv_cache.block_size: 0 is not possible, must be 1 or more"},
		{"block_size: 1048577", "m.yml:17: models[0].kv_cache.block_size: 1048577 is not possible, must be 1048576 or less"},
		{"gpu_memory_utilization: 0", "m.yml:17: models[0].kv_cache.gpu_memory_utilization: 0 is not possible, must be 0.001 or more"},
		{"gpu_memory_utilization: 90", "m.yml:17: models[0].kv_cache.gpu_memory_utilization: 90 is not possible, must be 1 or less"},
		{"gpu_memory_utilization:", "m.yml:17: models[0].kv_cache.gpu_memory_utilization: is empty, must be a number from 0.001 to 1"},
		{"max_waiting: -1", "m.yml:19: models[0].scheduler.max_waiting: -1 is not possible, must be 0 or more"},
		{"max_waiting: 1.5", "m.yml:19: models[0].scheduler.max_waiting: 1.5 is not possible, must be a whole number"},
		{"watermark: 1", "m.yml:17: models[0].kv_cache.watermark: 1 is not possible, must be a number from 0 to less than 1"},
		{"watermark: -0.01", "m.yml:17: models[0].kv_cache.watermark: -0.01 is not possible, must be a number from 0 to less than 1"},
		{"watermark: .nan", "m.yml:17: models[0].kv_cache.watermark: .nan is not possible, must be a number from 0 to less than 1"},
		{"watermark: 1%", `m.yml:17: models[0].kv_cache.watermark: is the text "1%", must be a number from 0 to less than 1`},
		{"num_gpu_blocks_override: 0", "m.yml:17: models[0].kv_cache.num_gpu_blocks_override: 0 is not possible, must be 1 or more"},
		{"num_gpu_blocks_override: 67108865", "m.yml:17: models[0].kv_cache.num_gpu_blocks_override: 67108865 is not possible, must be 67108864 or less"},

		// The scheduler's options.
		{"max_batch_tokens: 0", "m.yml:19: models[0].scheduler.max_batch_tokens: 0 is not possible, must be 1 or more"},
		{"max_batch_tokens: 2147483648", "m.yml:19: models[0].scheduler.max_batch_tokens: 2147483648 is not possible, must be 2147483647 or less"},
		{"max_num_sequences: -64", "m.yml:19: models[0].scheduler.max_num_sequences: -64 is not possible, must be 1 or more"},
		{"max_num_sequences: 1e10", "m.yml:19: models[0].scheduler.max_num_sequences: 1e10 is not possible, must be 2147483647 or less"},
		{"policy: fifo", `m.yml:19: models[0].scheduler.policy: "fifo" is not known, must be fcfs or priority`},
		{"policy: 1", "m.yml:19: models[0].scheduler.policy: is the number 1, must be fcfs or priority, as text"},
		{"enable_prefix_caching: yes", `m.yml:19: models[0].scheduler.enable_prefix_caching: is the text "yes", must be true or false`},
		{"enable_chunked_prefill: 1", "m.yml:19: models[0].scheduler.enable_chunked_prefill: is the number 1, must be true or false"},
		{"long_prefill_token_threshold: -1", "m.yml:19: models[0].scheduler.long_prefill_token_threshold: -1 is not possible, must be 0 or more"},
		{"long_prefill_token_threshold: 4e9", "m.yml:19: models[0].scheduler.long_prefill_token_threshold: 4e9 is not possible, must be 2147483647 or less"},
		{"scheduler_reserve_full_isl: [true]", "m.yml:19: models[0].scheduler.scheduler_reserve_full_isl: is a list, must be true or false"},
		{"async_scheduling:", "m.yml:19: models[0].scheduler.async_scheduling: is empty, must be true or false"},

		// What a step costs.
		{"step_overhead_ms: -1", "m.yml:20: models[0].latency.step_overhead_ms: -1 is not possible, must be 0 or more"},
		{"step_overhead_ms: 60001", "m.yml:20: models[0].latency.step_overhead_ms: 60001 is not possible, must be 60000 or less"},
		{"sequence_us: 60000001", "m.yml:21: models[0].latency.sequence_us: 60000001 is not possible, must be 60000000 or less"},
		{"prefill_step_ms: .nan", "m.yml:21: models[0].latency.prefill_step_ms: .nan is not possible, must be a number from 0 to 60000"},
		{"launch_us: -4", "m.yml:21: models[0].latency.launch_us: -4 is not possible, must be 0 or more"},
		{"all_reduce_latency_us: .inf", "m.yml:21: models[0].latency.all_reduce_latency_us: .inf is not possible, must be a number from 0 to 60000000"},
		{"all_reduce_gbps: -1", "m.yml:21: models[0].latency.all_reduce_gbps: -1 is not possible, must be 0 or more"},
		{"front_end_ms: 1e9", "m.yml:21: models[0].latency.front_end_ms: 1e9 is not possible, must be 60000 or less"},
		{"overlap_host: 2", "m.yml:21: models[0].latency.overlap_host: is the number 2, must be true or false"},
		{"compute: 0", "m.yml:22: models[0].efficiency.compute: 0 is not possible, must be 0.001 or more"},
		{"memory: 1.01", "m.yml:23: models[0].efficiency.memory: 1.01 is not possible, must be 1 or less"},
	}
	for _, tc := range tests {
		t.Run(tc.line, func(t *testing.T) { wantError(t, withLine(t, tc.line), tc.want) })
	}
}

func TestSchedulerErrors(t *testing.T) {
	replaced := func(old, with string) string {
		if !strings.Contains(batched, old) {
			t.Fatalf("the model holds no %q", old)
		}
		return strings.Replace(batched, old, with, 1)
	}
	const hardwareKeys = "hbm_gib, memory_bandwidth_gbps, peak_tflops, reserved_gib, profile"
	const modelKeys = "name, context_length, tokenizer, split_characters, engine, template_overhead, replicas, route, " +
		"hardware, tensor_parallel, profile, weights, shape, kv_cache, scheduler, latency, efficiency"
	const optionKeys = "profile, max_batch_tokens, max_num_sequences, policy, enable_prefix_caching, enable_chunked_prefill, " +
		"long_prefill_token_threshold, scheduler_reserve_full_isl, async_scheduling, max_waiting"
	const latencyKeys = "step_overhead_ms, sequence_us, prefill_step_ms, launch_us, all_reduce_latency_us, all_reduce_gbps, front_end_ms, overlap_host"
	const noFigures = "missing, must be given where there is neither profile nor shape"
	const wantHardware = "must be an entry of the file's section hardware or a built-in profile (NAME@VERSION)"
	weights := "    weights:\n      parameters_billions: 6.74\n      bytes_per_parameter: 2\n"
	cache := "    kv_cache:\n      bytes_per_token: 524288\n"
	options := "    scheduler:\n      profile: article\n"
	tests := []struct{ name, file, want string }{
		// The list of hardware.
		{"hardware empty", "hardware:\n" + batched[strings.Index(batched, "models"):], "m.yml:1: hardware: is empty, must be a section of hardware by name"},
		{"hardware a list", "hardware: [gpu]\n" + batched[strings.Index(batched, "models"):], "m.yml:1: hardware: is a list, must be a section of hardware by name"},
		{"hardware as text", "hardware: {gpu: h100}\n" + batched[strings.Index(batched, "models"):], `m.yml:1: hardware.gpu: is the text "h100", must be a section with the keys ` + hardwareKeys},
		{"hardware twice", replaced("models:", "  gpu: {}\nmodels:"), "m.yml:6: hardware.gpu: duplicate key, first on line 2, must be there once"},
		{
			"hardware named as a profile", replaced("models:", "  h100@2: {profile: h100@1}\nmodels:"),
			`m.yml:6: hardware: the name "h100@2" is not possible, must be without spaces, control characters and @, which marks built-in profiles`,
		},
		{
			"hardware without a name", replaced("models:", "  '': {profile: h100@1}\nmodels:"),
			`m.yml:6: hardware: the name "" is not possible, must not be empty`,
		},
		{
			"several faults of unused hardware", replaced("models:", "  b c: {hbm_gib: 1}\nmodels:"),
			`m.yml:6: hardware: the name "b c" is not possible, must be without spaces, control characters and @, which marks built-in profiles` + "\n" +
				"m.yml:6: hardware.b c.memory_bandwidth_gbps: missing, must be given where no profile is named\n" +
				"m.yml:6: hardware.b c.peak_tflops: missing, must be given where no profile is named",
		},
		{"hardware without memory", replaced("    hbm_gib: 80\n", ""), "m.yml:3: hardware.gpu.hbm_gib: missing, must be given where no profile is named"},
		{"unknown hardware key", replaced("hbm_gib: 80", "hbm_gib: 80\n    gpus: 2"), "m.yml:4: hardware.gpu.gpus: unknown key; known here: " + hardwareKeys},
		{"hardware profile a number", replaced("hbm_gib: 80", "hbm_gib: 80\n    profile: 4090"), "m.yml:4: hardware.gpu.profile: is the number 4090, must be the name of built-in hardware, as text"},

		// The model's hardware.
		{"no hardware", replaced("    hardware: gpu\n", ""), "m.yml:7: models[0].hardware: missing, " + wantHardware},
		{"unknown hardware", replaced("hardware: gpu", "hardware: tpu-v5"), `m.yml:11: models[0].hardware: "tpu-v5" is not known, ` + wantHardware + "; it has gpu"},
		{"misspelt hardware", replaced("hardware: gpu", "hardware: gpo"), `m.yml:11: models[0].hardware: "gpo" is not known, ` + wantHardware + "; it has gpu, did you mean gpu?"},
		{"no list of hardware", batched[strings.Index(batched, "models"):], `m.yml:6: models[0].hardware: "gpu" is not known, ` + wantHardware + "; it has none"},

		// Sections and keys.
		{
			"unknown key", replaced("hardware: gpu", "hardware: gpu\n    shards: 2"),
			"m.yml:12: models[0].shards: unknown key; known here for engine scheduler: " + modelKeys,
		},
		{"no weights", replaced(weights, ""), "m.yml:7: models[0].weights: " + noFigures},
		{"no cache", replaced(cache, ""), "m.yml:7: models[0].kv_cache: " + noFigures},
		{"no options", replaced(options, ""), "m.yml:7: models[0].scheduler: missing, must be a section with the keys " + optionKeys},
		{"empty options", replaced("      profile: article\n", ""), "m.yml:17: models[0].scheduler: is empty, must be a section with the keys " + optionKeys},
		{
			"empty sections", replaced(weights+cache+options, "    weights: {}\n    kv_cache: {}\n    scheduler: {}\n"),
			"m.yml:12: models[0].weights.parameters_billions: " + noFigures + "\n" +
				"m.yml:12: models[0].weights.bytes_per_parameter: " + noFigures + "\n" +
				"m.yml:13: models[0].kv_cache.bytes_per_token: " + noFigures,
		},
		{
			"unknown keys of weights and shape",
			replaced(weights, "    profile: m@1\n    weights: {params: 1}\n    shape: {layer: 1}\n"),
			"m.yml:13: models[0].weights.params: unknown key; known here: parameters_billions, active_parameters_billions, bytes_per_parameter\n" +
				"m.yml:14: models[0].shape.layer: unknown key, did you mean layers? Known here: layers, hidden, heads, kv_heads, head_size, intermediate, " +
				"vocabulary, bytes_per_parameter, bytes_per_kv_element, experts, active_experts, tied_embeddings, qkv_bias, qk_norm",
		},
		{"unknown cache key", replaced("    scheduler:", "      blocks: 1\n    scheduler:"), "m.yml:17: models[0].kv_cache.blocks: unknown key; known here: bytes_per_token, block_size, gpu_memory_utilization, watermark, num_gpu_blocks_override"},
		{"unknown option", replaced("profile: article", "max_num_seqs: 64"), "m.yml:18: models[0].scheduler.max_num_seqs: unknown key, did you mean max_num_sequences? Known here: " + optionKeys},
		{"latency of another engine", replaced("step_overhead_ms", "itl_ms"), "m.yml:20: models[0].latency.itl_ms: unknown key; known here: " + latencyKeys},
		{"unknown efficiency", replaced("compute", "computer"), "m.yml:22: models[0].efficiency.computer: unknown key, did you mean compute? Known here: compute, memory"},
		{"options a profile's name", replaced(options, "    scheduler: article\n"), `m.yml:17: models[0].scheduler: is the text "article", must be a section with the keys ` + optionKeys},
		{"blank options profile", replaced("profile: article", "profile: ''"), "m.yml:18: models[0].scheduler.profile: is blank, must be the name of a built-in set of options"},
		{"model profile a number", replaced(weights, "    profile: 7\n"), "m.yml:12: models[0].profile: is the number 7, must be the name of a built-in model, as text"},

		// Shapes.
		{
			"shape without figures", replaced(weights, "    shape: {layers: 1, hidden: 1, heads: 1, kv_heads: 1, head_size: 1}\n"),
			"m.yml:12: models[0].shape.intermediate: missing, must be given where no profile is named\n" +
				"m.yml:12: models[0].shape.vocabulary: missing, must be given where no profile is named\n" +
				"m.yml:12: models[0].shape.bytes_per_parameter: missing, must be given where no profile is named\n" +
				"m.yml:12: models[0].shape.bytes_per_kv_element: missing, must be given where no profile is named",
		},
		{
			"shape out of range",
			replaced(weights, "    profile: m@1\n    shape:\n      layers: 1025\n      hidden: 131073\n      heads: 0\n      kv_heads: 2000\n      head_size: 5000\n      intermediate: 1048577\n"+
				"      vocabulary: 1e9\n      experts: 4097\n      active_experts: -1\n      tied_embeddings: no\n      qkv_bias: 0\n      qk_norm: ''\n      bytes_per_parameter: 0\n      bytes_per_kv_element: 9\n"),
			"m.yml:14: models[0].shape.layers: 1025 is not possible, must be 1024 or less\n" +
				"m.yml:15: models[0].shape.hidden: 131073 is not possible, must be 131072 or less\n" +
				"m.yml:16: models[0].shape.heads: 0 is not possible, must be 1 or more\n" +
				"m.yml:17: models[0].shape.kv_heads: 2000 is not possible, must be 1024 or less\n" +
				"m.yml:18: models[0].shape.head_size: 5000 is not possible, must be 4096 or less\n" +
				"m.yml:19: models[0].shape.intermediate: 1048577 is not possible, must be 1048576 or less\n" +
				"m.yml:20: models[0].shape.vocabulary: 1e9 is not possible, must be 16777216 or less\n" +
				"m.yml:21: models[0].shape.experts: 4097 is not possible, must be 4096 or less\n" +
				"m.yml:22: models[0].shape.active_experts: -1 is not possible, must be 0 or more\n" +
				"m.yml:23: models[0].shape.tied_embeddings: is the text \"no\", must be true or false\n" +
				"m.yml:24: models[0].shape.qkv_bias: is the number 0, must be true or false\n" +
				"m.yml:25: models[0].shape.qk_norm: is the text \"\", must be true or false\n" +
				"m.yml:26: models[0].shape.bytes_per_parameter: 0 is not possible, must be 0.125 or more\n" +
				"m.yml:27: models[0].shape.bytes_per_kv_element: 9 is not possible, must be 8 or less",
		},
		{
			"heads that don't divide", replaced(weights, "    profile: m@1\n    shape: {heads: 32, kv_heads: 5}\n"),
			"m.yml:13: models[0].shape.kv_heads: 5 is not possible, must divide heads, which is 32",
		},
		{
			"more active experts than experts", replaced(weights, "    profile: m@1\n    shape: {experts: 8, active_experts: 9}\n"),
			"m.yml:13: models[0].shape.active_experts: 9 is not possible, must be 1 to experts, which is 8",
		},
		{
			"no active experts", replaced(weights, "    profile: m@1\n    shape: {experts: 8, active_experts: 0}\n"),
			"m.yml:13: models[0].shape.active_experts: 0 is not possible, must be 1 to experts, which is 8",
		},
		{
			"active experts of none", replaced(weights, "    profile: m@1\n    shape: {experts: 0, active_experts: 2}\n"),
			"m.yml:13: models[0].shape.active_experts: 2 is not possible, must be 0, as experts is",
		},
		{
			"experts alone",
			replaced(weights, "    shape: {layers: 1, hidden: 1, heads: 1, kv_heads: 1, head_size: 1, intermediate: 1, vocabulary: 1, bytes_per_parameter: 2, bytes_per_kv_element: 2, experts: 8}\n"),
			"m.yml:12: models[0].shape.active_experts: missing, must be given where experts is and no profile is named",
		},
		{
			"active experts alone",
			replaced(weights, "    shape: {layers: 1, hidden: 1, heads: 1, kv_heads: 1, head_size: 1, intermediate: 1, vocabulary: 1, bytes_per_parameter: 2, bytes_per_kv_element: 2, active_experts: 8}\n"),
			"m.yml:12: models[0].shape.experts: missing, must be given where active_experts is and no profile is named",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { wantError(t, tc.file, tc.want) })
	}
}
