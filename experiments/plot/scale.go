package plot

import "math"

// scale places values on the Y axis.
type scale struct {
	log       bool
	low, high float64
	ticks     []float64
}

// scale covers everything that the chart shows, from 0 on unless it is
// logarithmic.
func (c *Chart) scale() scale {
	s := scale{log: c.Log, low: math.Inf(1), high: math.Inf(-1)}
	for _, column := range c.Columns {
		for i := range column.Marks {
			m := &column.Marks[i]
			for _, values := range [][]float64{{m.Predicted, m.High}, m.Measured, m.Client} {
				for _, v := range values {
					if c.Log && v <= 0 {
						continue
					}
					s.low, s.high = min(s.low, v), max(s.high, v)
				}
			}
		}
	}
	if s.low > s.high { // nothing to show
		s.low, s.high = 1, 10
	}
	if c.Log {
		s.decades()
	} else {
		s.even()
	}
	return s
}

// even sets ticks at even steps of 1, 2 or 5 times a power of ten.
func (s *scale) even() {
	s.low = min(s.low, 0)
	if s.high <= s.low {
		s.high = s.low + 1
	}
	step := math.Pow(10, math.Floor(math.Log10((s.high-s.low)/4)))
	for _, factor := range []float64{5, 2} {
		if (s.high-s.low)/(step*factor) >= 4 {
			step *= factor
			break
		}
	}
	first, last := math.Floor(s.low/step), math.Ceil(s.high/step)
	s.low, s.high = first*step, last*step
	for k := first; k <= last; k++ {
		s.ticks = append(s.ticks, rounded(k*step))
	}
}

// decades sets ticks at 1, 2 and 5 times powers of ten.
func (s *scale) decades() {
	low, high := s.low/1.2, s.high*1.2
	s.low, s.high = low, high
	for power := math.Floor(math.Log10(low)); power <= math.Ceil(math.Log10(high)); power++ {
		for _, factor := range []float64{1, 2, 5} {
			if tick := rounded(factor * math.Pow(10, power)); tick >= low && tick <= high {
				s.ticks = append(s.ticks, tick)
			}
		}
	}
}

// rounded takes off what floating point has put on.
func rounded(x float64) float64 {
	if x == 0 {
		return 0
	}
	digits := math.Pow(10, 8-math.Ceil(math.Log10(math.Abs(x))))
	return math.Round(x*digits) / digits
}

// has reports whether the scale has a place for a value.
func (s *scale) has(v float64) bool { return !s.log || v > 0 }

// y is where a value stands, in pixels.
func (s *scale) y(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	return top + (height-bottom-top)*(high-v)/(high-low)
}
