package selftest

import "math"

// wellBelow is the share of the highest level sustained up to which a step says
// what things cost: nearer to the limit, queues and retries do.
const wellBelow = 0.75

// costs are CPU seconds.
type costs struct{ request, event float64 }

// fitCosts finds what a request and an event cost by least squares over steps:
// cores used = idle + request · requests/s + event · events/s. It is false where
// the steps don't tell: too few, too much alike, or a cost that comes out at 0 or
// less.
func fitCosts(steps []Step) (costs, bool) {
	// Columns are scaled to about 1, or the equations could not be solved well.
	var most [3]float64
	for _, s := range steps {
		for i, x := range s.load() {
			most[i] = math.Max(most[i], x)
		}
	}
	if most[1] == 0 || most[2] == 0 {
		return costs{}, false
	}
	var a [3][3]float64
	var b [3]float64
	for _, s := range steps {
		x := s.load()
		for i := range x {
			for j := range x {
				a[i][j] += x[i] * x[j] / (most[i] * most[j])
			}
			b[i] += x[i] * s.Cores / most[i]
		}
	}
	x, ok := solve(a, b)
	c := costs{x[1] / most[1], x[2] / most[2]}
	return c, ok && c.request > 0 && c.event > 0
}

// load is what a step's CPU time is explained by.
func (s *Step) load() [3]float64 { return [3]float64{1, s.RequestsPerS, s.EventsPerS} }

// cheap returns the steps well below the highest level sustained.
func cheap(steps []Step) []Step {
	best, _ := highest(steps)
	var chosen []Step
	for _, s := range steps {
		if s.Sustained && s.Level <= wellBelow*best.Level {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

// solve solves a·x = b by Gaussian elimination with pivots; it is false where a
// is about singular.
func solve(a [3][3]float64, b [3]float64) (x [3]float64, ok bool) {
	for col := range a {
		pivot := col
		for row := col; row < len(a); row++ {
			if math.Abs(a[row][col]) > math.Abs(a[pivot][col]) {
				pivot = row
			}
		}
		if math.Abs(a[pivot][col]) < 1e-9 {
			return x, false
		}
		a[col], a[pivot] = a[pivot], a[col]
		b[col], b[pivot] = b[pivot], b[col]
		for row := col + 1; row < len(a); row++ {
			f := a[row][col] / a[col][col]
			for k := col; k < len(a); k++ {
				a[row][k] -= f * a[col][k]
			}
			b[row] -= f * b[col]
		}
	}
	for row := len(a) - 1; row >= 0; row-- {
		x[row] = b[row]
		for k := row + 1; k < len(a); k++ {
			x[row] -= a[row][k] * x[k]
		}
		x[row] /= a[row][row]
	}
	return x, true
}
