package config

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// Limits of a data sheet's figures, a thousandfold beyond what is built.
const (
	minFigure = 0.001
	maxFigure = 1e6
)

// readHardware reads the optional list of hardware by name. It returns nil if
// what is there is no list.
func readHardware(file *section) map[string]Hardware {
	byName := make(map[string]Hardware)
	if !file.has("hardware") {
		return byName
	}
	list := file.reader.mapping(file.values["hardware"], "hardware", "a section of hardware by name")
	if list == nil {
		return nil
	}
	for _, key := range list.keys {
		name := key.Value
		if name == "" {
			file.reader.report(key.Line, "hardware", "the name %q is not possible, must not be empty", name)
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r == '@' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
			file.reader.report(key.Line, "hardware",
				"the name %q is not possible, must be without spaces, control characters and @, which marks built-in profiles", shortened(name))
		}
		byName[name] = readHardwareEntry(list, key)
	}
	return byName
}

func readHardwareEntry(list *section, key *yaml.Node) (h Hardware) {
	keys := []string{"hbm_gib", "memory_bandwidth_gbps", "peak_tflops", "reserved_gib", "profile"}
	required := keys[:3] // without a profile
	s := list.subsection(key.Value, keys)
	if s == nil {
		return h
	}
	s.allow("", keys)
	h = Hardware{
		Where:         list.reader.where(key.Line, list.pathOf(key.Value)),
		Profile:       s.optionalText("profile", "the name of built-in hardware"),
		MemoryGiB:     s.optionalNumber("hbm_gib", minFigure, maxFigure),
		BandwidthGBps: s.optionalNumber("memory_bandwidth_gbps", minFigure, maxFigure),
		PeakTFLOPS:    s.optionalNumber("peak_tflops", minFigure, maxFigure),
		ReservedGiB:   s.optionalNumber("reserved_gib", 0, maxFigure),
	}
	if !s.has("profile") {
		s.require("where no profile is named", required...)
	}
	if h.MemoryGiB != nil && h.ReservedGiB != nil && *h.ReservedGiB >= *h.MemoryGiB {
		s.refuse("reserved_gib", "%s is not possible, must be less than hbm_gib, which is %s", plain(*h.ReservedGiB), plain(*h.MemoryGiB))
	}
	return h
}

// hardwareName reads which hardware a model runs on: an entry of the file, or a
// built-in profile as it is.
func (m *modelReader) hardwareName() {
	const want = "an entry of the file's section hardware or a built-in profile (NAME@VERSION)"
	name := m.text("hardware", want)
	if name == "" || m.hardware == nil {
		return // reported already
	}
	if entry, ok := m.hardware[name]; ok {
		m.model.Scheduler.Hardware = entry
		return
	}
	if strings.Contains(name, "@") {
		m.model.Scheduler.Hardware = Hardware{Where: m.reader.where(m.values["hardware"].Line, m.pathOf("hardware")), Profile: name}
		return
	}
	known := slices.Sorted(maps.Keys(m.hardware))
	entries := "it has none"
	if len(known) > 0 {
		entries = "it has " + strings.Join(known, ", ")
	}
	hint := ""
	if near := nearest(name, known); near != "" {
		hint = ", did you mean " + near + "?"
	}
	m.refuse("hardware", "%q is not known, must be %s; %s%s", shortened(name), want, entries, hint)
}
