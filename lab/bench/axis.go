package main

import (
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// axis is an axis of a chart.
type axis struct {
	min, max float64
	log      bool
	ticks    []tick
}

type tick struct {
	at    float64
	label string
}

func (a *axis) apply(to *plot.Axis) {
	to.Min, to.Max = a.min, a.max
	if a.log {
		to.Scale = plot.LogScale{}
	}
	to.Padding = 0
	to.Color, to.Width = gridColor, vg.Points(1)
	to.Tick.Length, to.Tick.LineStyle = 5, draw.LineStyle{Color: gridColor, Width: 0.7}
	to.Tick.Label.Color, to.Tick.Label.Font = textColor, chartFont
	ticks := make([]plot.Tick, len(a.ticks))
	for i, t := range a.ticks {
		ticks[i] = plot.Tick{Value: t.at, Label: t.label}
	}
	to.Tick.Marker = plot.ConstantTicks(ticks)
}

// step returns the first of 1, 2 and 5 times a power of ten with which at most n steps
// reach top.
func step(top float64, n int) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(top / float64(n)))))
	for _, digit := range []float64{1, 2, 5} {
		if s := digit * power; s*float64(n) >= top {
			return s
		}
	}
	return 10 * power
}

// countAxis is for values from 0 to top, with a label for each.
func countAxis(top float64, label func(float64) string) axis {
	if top <= 0 {
		top = 1
	}
	by := step(top, 5)
	a := axis{max: by * math.Ceil(top/by-1e-9)}
	for i := 0.0; i*by <= a.max+by/2; i++ {
		a.ticks = append(a.ticks, tick{i * by, label(i * by)})
	}
	return a
}

// amount formats a number of an axis.
func amount(v float64) string {
	if v == math.Trunc(v) {
		return group(int64(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func percent(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) + "%" }

// clockAxis is for seconds since the start of a run.
func clockAxis(end float64) axis {
	unit, name := 1.0, " s"
	switch {
	case end > 3*3600:
		unit, name = 3600, " h"
	case end > 3*60:
		unit, name = 60, " min"
	}
	by := step(end/unit, 6)
	a := axis{max: end}
	for i := 0.0; i*by*unit <= end*1.0001; i++ {
		a.ticks = append(a.ticks, tick{i * by * unit, strconv.FormatFloat(i*by, 'g', 6, 64) + name})
	}
	return a
}

// timeAxis is a logarithmic axis for times in milliseconds. It begins and ends at 1, 2 or
// 5 times a power of ten. It has labels at powers of ten, and at the numbers between if
// there are few.
func timeAxis(low, high float64) axis {
	if high <= 0 {
		low, high = 1, 10 // there is nothing to show
	}
	mark := func(i int) float64 { return millis(shortest) * math.Pow10(i/3) * []float64{1, 2, 5}[i%3] }
	first := 0
	for mark(first+1) <= low*1.0001 {
		first++
	}
	last := first + 1
	for mark(last) < high*0.9999 {
		last++
	}
	a := axis{min: mark(first), max: mark(last), log: true}
	for i := first; i <= last; i++ {
		if last-first < 6 || i%3 == 0 {
			a.ticks = append(a.ticks, tick{mark(i), timeLabel(mark(i))})
		}
	}
	return a
}

// timeLabel formats milliseconds with the unit that makes the number short.
func timeLabel(ms float64) string {
	number := func(v float64) string {
		if v >= 1000 {
			return group(int64(v))
		}
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	switch d := duration(ms); {
	case d < time.Millisecond:
		return number(ms*1000) + " µs"
	case d < time.Second:
		return number(ms) + " ms"
	default:
		return number(ms/1000) + " s"
	}
}
