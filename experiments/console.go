package experiments

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// write shows a comparison as a table.
func (c *Comparison) write(out io.Writer) {
	where := "live"
	if c.Virtual {
		where = "in virtual time"
	}
	passed := len(c.Rows) - len(c.Failed())
	fmt.Fprintf(out, "\n%s %s, %s: %d of %d agree\n", c.ID, c.Title, where, passed, len(c.Rows))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  \tpredicted\tinterval\tsimulated\tserver\tclient\terror\t")
	for i := range c.Rows {
		r := &c.Rows[i]
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Key, r.predicted(), r.interval(),
			r.column(simulatedColumn), r.column(serverColumn), r.column(clientColumn), r.worst(), r.verdict())
	}
	_ = table.Flush() // it fails where out does, which the caller sees
	for _, r := range c.Failed() {
		if r.Explanation != nil {
			fmt.Fprintf(out, "  %s: %s: %s\n", r.Key, r.Explanation.State, r.Explanation.Text)
		}
	}
}

func (r *Row) verdict() string {
	switch {
	case r.Passes():
		return "ok"
	case r.Explanation != nil:
		return "FAILED (" + string(r.Explanation.State) + ")"
	case r.Busy():
		return "FAILED (busy machine)"
	}
	return "FAILED"
}

// Columns of a cell; simulatedColumn stands for the only one of what has none.
func simulatedColumn(c *Cell) *float64 { return c.Simulated }
func serverColumn(c *Cell) *float64    { return c.Server }
func clientColumn(c *Cell) *float64    { return c.Client }

func (r *Row) predicted() string {
	return r.span(func(c *Cell) (float64, float64, bool) { return c.Value, c.Value, true })
}

func (r *Row) interval() string {
	return r.span(func(c *Cell) (float64, float64, bool) { return c.Low, c.High, true })
}

func (r *Row) column(of func(*Cell) *float64) string {
	return r.span(func(c *Cell) (float64, float64, bool) {
		if v := of(c); v != nil {
			return *v, *v, true
		}
		return 0, 0, false
	})
}

// span is the range of what the cells have, "-" if they have nothing.
func (r *Row) span(of func(*Cell) (low, high float64, ok bool)) string {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range r.Cells {
		if l, h, ok := of(&r.Cells[i]); ok {
			low, high = min(low, l), max(high, h)
		}
	}
	switch {
	case low > high:
		return "-"
	case short(low) == short(high):
		return short(low)
	}
	return short(low) + "…" + short(high)
}

// worst is the error of the run that is furthest off.
func (r *Row) worst() string {
	worst := 0.0
	relative := true
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Measured == nil {
			return "-"
		}
		if c.Value == 0 {
			relative = false
		}
		if e := c.Error(); math.Abs(e) > math.Abs(worst) {
			worst = e
		}
	}
	if relative {
		return fmt.Sprintf("%+.2f %%", math.Round(worst*1e4)/100+0) // no -0.00
	}
	return fmt.Sprintf("%+g", worst)
}

// short writes a number with four digits that count.
func short(x float64) string {
	text := fmt.Sprintf("%.4g", x)
	if a := math.Abs(x); a >= 1e4 || a == math.Trunc(a) {
		text = fmt.Sprintf("%.0f", x)
	}
	return grouped(text)
}

// grouped puts a comma between thousands.
func grouped(digits string) string {
	whole, rest, _ := strings.Cut(digits, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	if strings.Contains(digits, "e") || len(whole) <= 4 {
		return digits
	}
	var parts []string
	for len(whole) > 3 {
		parts = append(parts, whole[len(whole)-3:])
		whole = whole[:len(whole)-3]
	}
	parts = append(parts, whole)
	slices.Reverse(parts)
	out := sign + strings.Join(parts, ",")
	if rest != "" {
		out += "." + rest
	}
	return out
}
