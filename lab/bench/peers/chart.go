package main

import (
	"errors"
	"fmt"
	"html"
	"math"
	"os"
	"strings"
)

// curve is one line of the chart.
type curve struct {
	class, name string
	points      []point
	top         bool // the topmost curve
}

// label returns the y position of the text at a point: above the point, or below it for
// the lower curve, and clear of the topmost line.
func (c *curve) label(p point) float64 {
	y := chartY(p.utilisation)
	switch {
	case c.top && p.utilisation > 0.85:
		return min(y-13, plotTop-8)
	case !c.top && p.utilisation > 0.85:
		return y + 24
	default:
		return y - 13
	}
}

// point is a number of waiters and the utilisation.
type point struct {
	waiters     int
	utilisation float64
}

// The dimensions of the chart, in SVG units.
const (
	chartWidth, chartHeight = 720, 400
	plotLeft, plotRight     = 80, 692
	plotTop, plotBottom     = 90, 336
	plotInset               = 32 // distance from the axis to the first point
)

const (
	chartTitle    = "A lock that is never idle"
	chartSubtitle = "All want it at the same time and hold it for 10 ms each, in up to 4 processes"
	chartX        = "goroutines that want the lock (log scale)"
	chartYLabel   = "time in which it is held"
)

// chartStyle has colours for light and dark pages. The background is transparent.
const chartStyle = `
text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #57606a; }
.title { font-size: 17px; font-weight: 600; fill: #1f2328; }
.value { font-weight: 600; text-anchor: middle; }
.tick, .axis { text-anchor: middle; }
.part { text-anchor: end; }
.grid { stroke: #8c959f; stroke-opacity: .28; }
.base { stroke: #8c959f; stroke-opacity: .8; }
.line { fill: none; stroke-width: 3; stroke-linejoin: round; stroke-linecap: round; }
.ours { stroke: #0969da; } .ours-ink { fill: #0969da; }
.them { stroke: #bc4c00; } .them-ink { fill: #bc4c00; }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1; } .title { fill: #f0f6fc; }
  .ours { stroke: #58a6ff; } .ours-ink { fill: #58a6ff; }
  .them { stroke: #f0883e; } .them-ink { fill: #f0883e; }
}
`

// drawChart returns an SVG of the curves.
func drawChart(curves []curve) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="title desc">`,
		chartWidth, chartHeight)
	say(`<title id="title">%s</title>`, html.EscapeString(chartTitle))
	say(`<desc id="desc">%s</desc>`, html.EscapeString(describe(curves)))
	say(`<style>%s</style>`, chartStyle)
	say(`<text class="title" x="%d" y="28">%s</text>`, plotLeft, chartTitle)
	say(`<text x="%d" y="49">%s</text>`, plotLeft, chartSubtitle)

	for p := 0; p <= 100; p += 25 {
		class := "grid"
		if p == 0 {
			class = "base"
		}
		y := chartY(float64(p) / 100)
		say(`<line class="%s" x1="%d" x2="%d" y1="%.1f" y2="%.1[4]f"/>`, class, plotLeft, plotRight, y)
		say(`<text class="part" x="%d" y="%.1f">%d%%</text>`, plotLeft-10, y+4.5, p)
	}
	low, high := reach(curves)
	for _, p := range widest(curves) {
		x := chartXAt(p.waiters, low, high)
		say(`<line class="base" x1="%.1f" x2="%.1[1]f" y1="%d" y2="%d"/>`, x, plotBottom, plotBottom+5)
		say(`<text class="tick" x="%.1f" y="%d">%s</text>`, x, plotBottom+23, count(float64(p.waiters)))
	}
	say(`<text class="axis" x="%d" y="%d">%s</text>`, (plotLeft+plotRight)/2, chartHeight-14, chartX)
	say(`<text class="axis" transform="translate(20 %d) rotate(-90)">%s</text>`, (plotTop+plotBottom)/2, chartYLabel)

	for i, c := range curves {
		path := make([]string, len(c.points))
		for j, p := range c.points {
			path[j] = fmt.Sprintf("%.1f,%.1f", chartXAt(p.waiters, low, high), chartY(p.utilisation))
		}
		say(`<polyline class="line %s" points="%s"/>`, c.class, strings.Join(path, " "))
		for _, p := range c.points {
			x, y := chartXAt(p.waiters, low, high), chartY(p.utilisation)
			say(`<circle class="%s-ink" cx="%.1f" cy="%.1f" r="4.5"/>`, c.class, x, y)
			say(`<text class="value %s-ink" x="%.1f" y="%.1f">%s</text>`, c.class, x, c.label(p), percentText(p.utilisation))
		}
		// The legend is at the lower right, where rising curves leave room.
		y := plotBottom - 24*(len(curves)-i) + 6
		say(`<line class="line %s" x1="%d" x2="%d" y1="%d" y2="%[4]d"/>`, c.class, plotRight-216, plotRight-190, y)
		say(`<text class="%s-ink" x="%d" y="%d">%s</text>`, c.class, plotRight-180, y+4, html.EscapeString(c.name))
	}
	say(`</svg>`)
	return b.String()
}

// percentText shows more digits close to 100 %.
func percentText(part float64) string {
	if part < 0.9 {
		return fmt.Sprintf("%.0f%%", 100*part)
	}
	return fmt.Sprintf("%.1f%%", 100*part)
}

func chartY(part float64) float64 {
	return plotBottom - part*(plotBottom-plotTop)
}

// chartXAt maps equal ratios to equal distances.
func chartXAt(waiters, low, high int) float64 {
	part := 0.5
	if high > low {
		part = math.Log(float64(waiters)/float64(low)) / math.Log(float64(high)/float64(low))
	}
	return plotLeft + plotInset + part*(plotRight-plotLeft-2*plotInset)
}

// widest returns the points of the curve with the most points.
func widest(curves []curve) (points []point) {
	for _, c := range curves {
		if len(c.points) > len(points) {
			points = c.points
		}
	}
	return points
}

// reach returns the smallest and the largest number of waiters.
func reach(curves []curve) (low, high int) {
	points := widest(curves)
	return points[0].waiters, points[len(points)-1].waiters
}

// describe returns the chart as text, for readers without pictures.
func describe(curves []curve) string {
	var parts []string
	for _, c := range curves {
		for _, p := range c.points {
			parts = append(parts, fmt.Sprintf("%s, %s waiters: %s", c.name, count(float64(p.waiters)), percentText(p.utilisation)))
		}
	}
	return strings.Join(parts, "; ")
}

var errNoCurve = errors.New("there is nothing to draw: -svg needs F7")

// writeSVG draws the results of F7.
func (b *bench) writeSVG(path string) error {
	us := curve{class: "ours", name: ours, top: true}
	them := curve{class: "them", name: "polling every 200\u2013400 ms"}
	for _, f := range b.figures {
		if group(f.scenario.id) != "F7" {
			continue
		}
		p := point{f.scenario.shape.goroutines, f.median(utilisation)}
		switch f.peer {
		case ours:
			us.points = append(us.points, p)
		case "polling":
			them.points = append(them.points, p)
		}
	}
	if len(us.points) == 0 || len(them.points) == 0 {
		return errNoCurve
	}
	return os.WriteFile(path, []byte(drawChart([]curve{us, them})), 0o644)
}
