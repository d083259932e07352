package config

import "slices"

// engineRule says what a model of one engine has beside modelKeys.
type engineRule struct {
	name     string
	sections []sectionRule
}

// sectionRule is a section that models of an engine may have. Its read says
// whether they must: the section's getters report a key that is missing.
type sectionRule struct {
	key  string
	read func(*section, *Model)
}

// engines is the one place that says which engines there are and which sections
// each takes.
var engines = []engineRule{
	{name: EngineInstant},
	{name: EngineFixedRate, sections: []sectionRule{
		{key: "latency", read: readFixedRateLatency},
	}},
}

func engineNames() (names []string) {
	for _, e := range engines {
		names = append(names, e.name)
	}
	return names
}

// readEngineSections reads the sections of m's engine, and refuses the keys that a
// model of it does not have. Where the engine itself is missing or unknown, the
// sections of all engines are let pass unread.
func readEngineSections(s *section, m *Model) {
	keys, where := slices.Clone(modelKeys), ""
	for _, e := range engines {
		if m.Engine != e.name && m.Engine != "" {
			continue
		}
		for _, rule := range e.sections {
			keys = append(keys, rule.key)
			if m.Engine != "" {
				rule.read(s, m)
			}
		}
	}
	if m.Engine != "" {
		where = " for engine " + m.Engine
	}
	s.allow(where, keys)
}
