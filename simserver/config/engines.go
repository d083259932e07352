package config

import "slices"

// engineRule says what a model of one engine has beside modelKeys.
type engineRule struct {
	name string
	keys []keyRule
}

// keyRule is a key that models of an engine may have. Its read says whether they
// must: it reports a key that is missing.
type keyRule struct {
	key  string
	read func(*modelReader)
}

// engines is the one place that says which engines there are and which keys each
// takes.
var engines = []engineRule{
	{name: EngineInstant},
	{name: EngineFixedRate, keys: []keyRule{
		{"latency", (*modelReader).fixedRateLatency},
	}},
	{name: EngineScheduler, keys: []keyRule{
		{"hardware", (*modelReader).hardwareName},
		{"tensor_parallel", (*modelReader).tensorParallel},
		{"profile", (*modelReader).profile},
		{"weights", (*modelReader).weights},
		{"shape", (*modelReader).shape},
		{"kv_cache", (*modelReader).kvCache},
		{"scheduler", (*modelReader).schedulerOptions},
		{"latency", (*modelReader).stepLatency},
		{"efficiency", (*modelReader).efficiency},
	}},
}

func engineNames() (names []string) {
	for _, e := range engines {
		names = append(names, e.name)
	}
	return names
}

// engineKeys reads the keys of the model's engine, and refuses those that a
// model of it does not have. Where the engine itself is missing or unknown, the
// keys of all engines are let pass unread.
func (m *modelReader) engineKeys() {
	keys, where := slices.Clone(modelKeys), ""
	for _, e := range engines {
		if m.model.Engine != e.name && m.model.Engine != "" {
			continue
		}
		for _, rule := range e.keys {
			if !slices.Contains(keys, rule.key) {
				keys = append(keys, rule.key)
			}
			if m.model.Engine != "" {
				rule.read(m)
			}
		}
	}
	if m.model.Engine != "" {
		where = " for engine " + m.model.Engine
	}
	m.allow(where, keys)
}
