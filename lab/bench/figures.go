package main

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// curve is one of the runs that the charts and tables set beside each other.
type curve struct {
	Name string
	run  *jsonRun
}

// figure is a chart with its heading.
type figure struct {
	Title, Note string
	Curves      []string // the names of the curves, in the order of their colours
	Dashed      string   // what a dashed line means, if there is one
	Chart       template.HTML
}

// figures returns the charts of the curves.
func figures(curves []curve) []figure {
	all := []figure{
		percentileFigure(curves), histogramFigure(curves),
		throughputFigure(curves), responseFigure(curves), usersFigure(curves), loadFigure(curves),
	}
	for _, c := range curves {
		if c.run.Errors > 0 {
			all = append(all, errorsFigure(curves))
			break
		}
	}
	for i := range all {
		for _, c := range curves {
			all[i].Curves = append(all[i].Curves, c.Name)
		}
	}
	return all
}

func percentileFigure(curves []curve) figure {
	c := chart{about: "Response time by percentile: " + inWords(curves, func(r *jsonRun) string {
		return fmt.Sprintf("median %s, 99th percentile %s", timeLabel(r.P50), timeLabel(r.P99))
	})}
	low, high, end := math.Inf(1), 0.0, 1.0
	for i, cv := range curves {
		l := line{color: i}
		// The slowest sample is the middle of the last part; there is no place for 100 %.
		top := math.Max(math.Log10(2*float64(cv.run.Samples)), 1)
		for _, p := range cv.run.Percentiles {
			low, high = math.Min(low, p.Time), math.Max(high, p.Time)
			l.points = append(l.points, point{math.Min(nines(p.Percent), top), p.Time})
		}
		end = math.Max(end, top)
		c.lines = append(c.lines, l)
	}
	c.x = axis{max: end}
	for _, p := range []float64{50, 90, 99, 99.9, 99.99, 99.999, 99.9999} {
		if at := nines(p); at <= end {
			c.x.ticks = append(c.x.ticks, tick{at, percent(p)})
		}
	}
	c.y = timeAxis(low, high)
	return figure{
		Title: "Response time percentiles", Chart: c.svg(),
		Note: "So many percent of the samples took at most this time. Towards the right, each division is a tenth of the one before.",
	}
}

// nines maps 90 % to 1, 99 % to 2, 99.9 % to 3, so that rare delays have as much room as
// frequent ones.
func nines(percent float64) float64 { return -math.Log10(1 - percent/100) }

func histogramFigure(curves []curve) figure {
	c := chart{about: "Distribution of response times: " + inWords(curves, func(r *jsonRun) string {
		return fmt.Sprintf("%s to %s", timeLabel(r.Min), timeLabel(r.Max))
	})}
	low, high, top := math.Inf(1), 0.0, 0.0
	for i, cv := range curves {
		l := line{color: i, filled: true}
		for j, b := range cv.run.Histogram {
			part := 100 * float64(b.Samples) / float64(cv.run.Samples)
			low, high, top = math.Min(low, b.From), math.Max(high, b.To), math.Max(top, part)
			if j == 0 {
				l.points = append(l.points, point{b.From, 0})
			}
			l.points = append(l.points, point{b.From, part}, point{b.To, part})
			if j == len(cv.run.Histogram)-1 {
				l.points = append(l.points, point{b.To, 0})
			}
		}
		c.lines = append(c.lines, l)
	}
	c.x, c.y = timeAxis(low, high), countAxis(top, percent)
	return figure{Title: "Distribution of response times", Note: "Share of the samples by response time; the scale is logarithmic.", Chart: c.svg()}
}

func throughputFigure(curves []curve) figure {
	c := rates("Throughput over time: "+inWords(curves, func(r *jsonRun) string {
		return throughput(r.Throughput) + " samples per second on average"
	}), curves, func(s *jsonSeries, p jsonPoint) float64 { return float64(p.Samples) / s.Interval * 1000 })
	return figure{Title: "Throughput over time", Note: "Samples per second, counted when they end.", Chart: c.svg()}
}

func usersFigure(curves []curve) figure {
	c := rates("Active users over time: "+inWords(curves, func(r *jsonRun) string {
		return fmt.Sprintf("up to %s", group(r.mostUsers()))
	}), curves, func(_ *jsonSeries, p jsonPoint) float64 { return float64(p.Users) })
	return figure{Title: "Active users over time", Note: "Users that have begun and have samples left.", Chart: c.svg()}
}

func errorsFigure(curves []curve) figure {
	c := rates("Errors over time: "+inWords(curves, func(r *jsonRun) string { return group(r.Errors) }),
		curves, func(s *jsonSeries, p jsonPoint) float64 { return float64(p.Errors) / s.Interval * 1000 })
	return figure{Title: "Errors over time", Note: "Failed samples per second.", Chart: c.svg()}
}

// rates returns a chart of one number for each interval.
func rates(about string, curves []curve, value func(*jsonSeries, jsonPoint) float64) *chart {
	c := &chart{about: about, lines: overTime(curves, value), x: clockAxis(longestRun(curves))}
	top := 0.0
	for _, l := range c.lines {
		for _, p := range l.points {
			top = math.Max(top, p.y)
		}
	}
	c.y = countAxis(top, amount)
	return c
}

func responseFigure(curves []curve) figure {
	median := overTime(curves, func(_ *jsonSeries, p jsonPoint) float64 { return p.P50 })
	slow := overTime(curves, func(_ *jsonSeries, p jsonPoint) float64 { return p.P99 })
	for i := range slow {
		slow[i].dashed = true
	}
	c := chart{
		about: "Response times over time: median and 99th percentile of each interval",
		lines: append(slow, median...), x: clockAxis(longestRun(curves)),
	}
	c.timesOnY()
	return figure{
		Title: "Response times over time", Note: "Of the samples that end in an interval; the scale is logarithmic.",
		Dashed: "99th percentile", Chart: c.svg(),
	}
}

// loadFigure is JMeter's "time vs threads".
func loadFigure(curves []curve) figure {
	c := chart{about: "Response times by active users: median of each interval"}
	var most int64
	for i, cv := range curves {
		l := line{color: i, dots: true}
		for _, p := range cv.run.Series.Points {
			l.points = append(l.points, point{float64(p.Users), p.P50})
		}
		most = max(most, cv.run.mostUsers())
		c.lines = append(c.lines, l)
	}
	c.x = countAxis(float64(most), amount)
	c.timesOnY()
	return figure{
		Title: "Response times by active users", Note: "A dot is the median of an interval of the run; the scale is logarithmic.",
		Chart: c.svg(),
	}
}

// timesOnY makes the y axis for times. In an interval in which no sample ended there is
// no time, and no point.
func (c *chart) timesOnY() {
	low, high := math.Inf(1), 0.0
	for i := range c.lines {
		l := &c.lines[i]
		l.points = slices.DeleteFunc(l.points, func(p point) bool { return p.y <= 0 })
		for _, p := range l.points {
			low, high = math.Min(low, p.y), math.Max(high, p.y)
		}
	}
	c.y = timeAxis(low, high)
}

// overTime returns a line for each curve, with a value for each interval, at its middle.
func overTime(curves []curve, value func(*jsonSeries, jsonPoint) float64) []line {
	lines := make([]line, len(curves))
	for i, cv := range curves {
		lines[i].color = i
		s := &cv.run.Series
		for j, p := range s.Points {
			lines[i].points = append(lines[i].points, point{(float64(j) + 0.5) * s.Interval / 1000, value(s, p)})
		}
	}
	return lines
}

// longestRun returns the seconds of the longest run.
func longestRun(curves []curve) float64 {
	end := millis(seriesWidth) / 1000
	for _, c := range curves {
		end = math.Max(end, float64(len(c.run.Series.Points))*c.run.Series.Interval/1000)
	}
	return end
}

func (r *jsonRun) mostUsers() int64 {
	var most int64
	for _, p := range r.Series.Points {
		most = max(most, p.Users)
	}
	return most
}

// inWords says something of each curve.
func inWords(curves []curve, say func(*jsonRun) string) string {
	var parts []string
	for _, c := range curves {
		if c.run.Samples > 0 {
			parts = append(parts, c.Name+": "+say(c.run))
		}
	}
	return strings.Join(parts, "; ")
}
