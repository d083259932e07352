package config

func (m *modelReader) shape() {
	keys := []string{
		"layers", "hidden", "heads", "kv_heads", "head_size", "intermediate", "vocabulary",
		"bytes_per_parameter", "bytes_per_kv_element",
		"experts", "active_experts", "tied_embeddings", "qkv_bias", "qk_norm",
	}
	required := keys[:9] // without a profile
	s := m.optionalSection("shape", keys)
	if s == nil {
		return
	}
	// The limits keep every count that follows from a shape within int64.
	shape := Shape{
		Layers:            s.optionalInteger("layers", 1, 1<<10),
		Hidden:            s.optionalInteger("hidden", 1, 1<<17),
		Heads:             s.optionalInteger("heads", 1, 1<<10),
		KVHeads:           s.optionalInteger("kv_heads", 1, 1<<10),
		HeadSize:          s.optionalInteger("head_size", 1, 1<<12),
		Intermediate:      s.optionalInteger("intermediate", 1, 1<<20),
		Vocabulary:        s.optionalInteger("vocabulary", 1, 1<<24),
		Experts:           s.optionalInteger("experts", 0, 1<<12),
		ActiveExperts:     s.optionalInteger("active_experts", 0, 1<<12),
		TiedEmbeddings:    s.optionalBool("tied_embeddings"),
		QKVBias:           s.optionalBool("qkv_bias"),
		QKNorm:            s.optionalBool("qk_norm"),
		BytesPerParameter: s.optionalNumber("bytes_per_parameter", minElementBytes, maxElementBytes),
		BytesPerKVElement: s.optionalNumber("bytes_per_kv_element", minElementBytes, maxElementBytes),
	}
	if !m.has("profile") {
		s.require("where no profile is named", required...)
		if s.has("experts") {
			s.require("where experts is and no profile is named", "active_experts")
		}
		if s.has("active_experts") {
			s.require("where active_experts is and no profile is named", "experts")
		}
	}
	shape.refuseMismatches(s)
	m.model.Scheduler.Shape = shape
}

// refuseMismatches reports figures that are possible alone, but not together.
func (shape Shape) refuseMismatches(s *section) {
	if shape.Heads != nil && shape.KVHeads != nil && *shape.Heads%*shape.KVHeads != 0 {
		s.refuse("kv_heads", "%d is not possible, must divide heads, which is %d", *shape.KVHeads, *shape.Heads)
	}
	if shape.Experts == nil || shape.ActiveExperts == nil {
		return
	}
	switch experts, active := *shape.Experts, *shape.ActiveExperts; {
	case experts == 0 && active > 0:
		s.refuse("active_experts", "%d is not possible, must be 0, as experts is", active)
	case experts > 0 && (active < 1 || active > experts):
		s.refuse("active_experts", "%d is not possible, must be 1 to experts, which is %d", active, experts)
	}
}
