package config

import (
	"path/filepath"

	"gopkg.in/yaml.v3"

	"llmsim-bench/simserver/recording"
)

// Replay is an answer that was recorded.
type Replay struct {
	// Answer is what the file says.
	Answer *recording.Answer
	// Timing says that its tokens come when they came then.
	Timing bool
}

var replayKeys = []string{"file", "timing"}

// replay reads the recording under the key replay: a file's name, or a section. A
// name counts from the directory of the file that is being read.
func (s *section) replay() *Replay {
	node := s.values["replay"]
	if node.Kind != yaml.MappingNode {
		name, ok := s.reader.plainText(node, s.pathOf("replay"), "the file of a recorded exchange, or a section with the keys file, timing")
		if !ok {
			return nil
		}
		return &Replay{Answer: s.recorded("replay", name)}
	}
	sub := s.optionalSection("replay", replayKeys)
	if sub == nil {
		return nil
	}
	r := &Replay{}
	if timing := sub.optionalBool("timing"); timing != nil {
		r.Timing = *timing
	}
	if name := sub.text("file", "the file of a recorded exchange"); name != "" {
		r.Answer = sub.recorded("file", name)
	}
	return r
}

// recorded reads the answer out of a file that key names; nil: reported.
func (s *section) recorded(key, name string) *recording.Answer {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(s.reader.file), path)
	}
	exchange, err := recording.Read(path)
	if err != nil {
		s.refuse(key, "%v", err)
		return nil
	}
	answer, err := exchange.Answer()
	if err != nil {
		s.refuse(key, "%s can't be replayed: %v", path, err)
	}
	return answer
}
