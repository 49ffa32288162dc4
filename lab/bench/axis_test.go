package main

import (
	"slices"
	"testing"
)

func TestAxes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		axis     axis
		min, max float64
		labels   []string
	}{
		"counts":           {countAxis(9100, amount), 0, 10_000, []string{"0", "2,000", "4,000", "6,000", "8,000", "10,000"}},
		"exactly":          {countAxis(1000, amount), 0, 1000, []string{"0", "200", "400", "600", "800", "1,000"}},
		"few":              {countAxis(0.7, amount), 0, 0.8, []string{"0", "0.2", "0.4", "0.6", "0.8"}},
		"none":             {countAxis(0, amount), 0, 1, []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		"percent":          {countAxis(100, percent), 0, 100, []string{"0%", "20%", "40%", "60%", "80%", "100%"}},
		"seconds":          {clockAxis(2.1), 0, 2.1, []string{"0 s", "0.5 s", "1 s", "1.5 s", "2 s"}},
		"minutes":          {clockAxis(600), 0, 600, []string{"0 min", "2 min", "4 min", "6 min", "8 min", "10 min"}},
		"hours":            {clockAxis(5 * 3600), 0, 5 * 3600, []string{"0 h", "1 h", "2 h", "3 h", "4 h", "5 h"}},
		"few times":        {timeAxis(1.5, 9), 1, 10, []string{"1 ms", "2 ms", "5 ms", "10 ms"}},
		"the same time":    {timeAxis(3, 3), 2, 5, []string{"2 ms", "5 ms"}},
		"many times":       {timeAxis(0.001, 250), 0.001, 500, []string{"1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"}},
		"the longest time": {timeAxis(60_000, 600_000), 50_000, 1_000_000, []string{"50 s", "100 s", "200 s", "500 s", "1,000 s"}},
		"no time":          {timeAxis(1e300, 0), 1, 10, []string{"1 ms", "2 ms", "5 ms", "10 ms"}},
	} {
		var labels []string
		for _, tick := range test.axis.ticks {
			labels = append(labels, tick.label)
		}
		if a := test.axis; a.min != test.min || a.max != test.max || !slices.Equal(labels, test.labels) {
			t.Errorf("%s: from %v to %v, labels %q, want %v to %v and %q", name, a.min, a.max, labels, test.min, test.max, test.labels)
		}
	}
}
