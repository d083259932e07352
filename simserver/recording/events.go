package recording

import "bytes"

// event is the data of one server-sent event, and when the piece came that
// completes it.
type event struct {
	data []byte
	atNS int64
}

// events takes a stream apart. An event that the end of the stream cuts counts, for
// servers that leave out the last line end.
func events(segments []Segment) []event {
	var all []event
	var line, data []byte
	var last int64
	endLine := func() {
		line = bytes.TrimSuffix(line, []byte("\r"))
		switch {
		case len(line) == 0 && data != nil:
			all = append(all, event{data, last})
			data = nil
		case bytes.HasPrefix(line, []byte("data:")):
			value := bytes.TrimPrefix(line[len("data:"):], []byte(" "))
			if data != nil {
				data = append(data, '\n')
			} else {
				data = []byte{}
			}
			data = append(data, value...)
		}
		line = line[:0]
	}
	for _, s := range segments {
		last = s.AtNS
		for rest := s.Data; ; {
			piece, after, ended := bytes.Cut(rest, []byte("\n"))
			line = append(line, piece...)
			if !ended {
				break
			}
			endLine()
			rest = after
		}
	}
	endLine()
	if data != nil {
		all = append(all, event{data, last})
	}
	return all
}
