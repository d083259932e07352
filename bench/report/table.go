package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// column is one column of a table: a heading and a cell for each row.
type column struct {
	head  string
	left  bool // text; numbers stand on the right
	cells []string
}

const columnGap = "  "

func (c column) width() int {
	w := utf8.RuneCountInString(c.head)
	for _, cell := range c.cells {
		w = max(w, utf8.RuneCountInString(cell))
	}
	return w
}

// layOut returns the table as lines of at most width columns; width 0 is no
// limit. A table that is too wide is cut between columns and continues below,
// each part beginning with the first column. A single column is never cut.
func layOut(columns []column, width int) string {
	var text strings.Builder
	for len(columns) > 1 {
		used, n := columns[0].width(), 1
		for n < len(columns) {
			used += len(columnGap) + columns[n].width()
			if width > 0 && used > width && n > 1 {
				break
			}
			n++
		}
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		writePart(&text, columns[:n])
		columns = slices.Concat(columns[:1], columns[n:])
	}
	return text.String()
}

func writePart(text *strings.Builder, columns []column) {
	for row := -1; row < len(columns[0].cells); row++ {
		var line []string
		for _, c := range columns {
			cell := c.head
			if row >= 0 {
				cell = c.cells[row]
			}
			line = append(line, pad(cell, c.width(), c.left))
		}
		text.WriteString(strings.TrimRight(strings.Join(line, columnGap), " "))
		text.WriteByte('\n')
	}
}

// pad fills s with spaces up to width runes.
func pad(s string, width int, left bool) string {
	spaces := strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
	if left {
		return s + spaces
	}
	return spaces + s
}

// joined makes one cell a row out of parallel columns of parts, each part
// aligned on the right, with a middle dot between them.
func joined(parts [][]string) []string {
	cells := make([]string, len(parts[0]))
	for i, part := range parts {
		width := column{cells: part}.width()
		for row, s := range part {
			if i > 0 {
				cells[row] += " · "
			}
			cells[row] += pad(s, width, false)
		}
	}
	return cells
}
