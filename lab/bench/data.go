package main

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// The tables behind the charts.

// percentileGrid has the percentages that readers ask for.
func percentileGrid(curves []curve) grid {
	g := grid{Caption: "Response time percentiles, ms", Header: []string{"Percent"}}
	for _, c := range curves {
		g.Header = append(g.Header, c.Name)
	}
	for _, percentage := range []float64{0, 10, 25, 50, 75, 90, 95, 98, 99, 99.9, 99.99, 99.999, 100} {
		row, found := []cell{{Text: percent(percentage)}}, false
		for _, c := range curves {
			i := slices.IndexFunc(c.run.Percentiles, func(p jsonPercentile) bool { return p.Percent == percentage })
			text := ""
			if i >= 0 {
				text, found = timeNumber(c.run.Percentiles[i].Time), true
			}
			row = append(row, cell{Text: text})
		}
		if found {
			g.Rows = append(g.Rows, row)
		}
	}
	return g
}

func histogramGrid(curves []curve) grid {
	g := grid{Caption: "Distribution of response times, samples", Header: []string{"From, less than"}}
	var all []jsonBin
	for _, c := range curves {
		g.Header = append(g.Header, c.Name)
		all = append(all, c.run.Histogram...)
	}
	slices.SortFunc(all, func(a, b jsonBin) int { return cmp.Compare(a.From, b.From) })
	all = slices.CompactFunc(all, func(a, b jsonBin) bool { return a.From == b.From })
	for _, bin := range all {
		row := []cell{{Text: timeLabel(bin.From) + " – " + timeLabel(bin.To)}}
		for _, c := range curves {
			var n int64
			for _, b := range c.run.Histogram {
				if b.From == bin.From {
					n += b.Samples
				}
			}
			row = append(row, cell{Text: group(n)})
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// seriesGrid has a row for each interval of each curve.
func seriesGrid(curves []curve) grid {
	g := grid{Caption: "Over time", Header: []string{"Time", "Run", "Users", "Samples", "Errors", "Median, ms", "99%, ms"}}
	for _, c := range curves {
		for i, p := range c.run.Series.Points {
			at := time.Duration(i) * duration(c.run.Series.Interval)
			g.Rows = append(g.Rows, []cell{
				{Text: strconv.FormatFloat(at.Seconds(), 'f', 1, 64) + " s"}, {Text: c.Name},
				{Text: group(p.Users)}, {Text: group(p.Samples)}, {Text: group(p.Errors)},
				{Text: timeNumber(p.P50)}, {Text: timeNumber(p.P99)},
			})
		}
	}
	return g
}
