package main

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// chart is drawn by gonum/plot: it has logarithmic axes, which times from microseconds to
// minutes need, and its SVG has text as text.
type chart struct {
	about string // for readers without pictures
	x, y  axis
	lines []line
}

type line struct {
	points []point
	color  int // of the curve, from 0
	dashed bool
	filled bool
	dots   bool // only points
}

type point struct{ x, y float64 }

// The size of a chart in SVG units. It is small, so that its text can be read on a
// phone.
const (
	chartWidth  = 460
	chartHeight = 230
	chartText   = 12
)

// gonum/plot has colours as numbers. These stand for the variables of the style sheet,
// which differ between light and dark pages.
var (
	textColor   = color.RGBA{0, 255, 0, 255}
	gridColor   = color.RGBA{0, 255, 255, 255}
	curveColors = []color.RGBA{{255, 0, 0, 255}, {0, 0, 255, 255}}
	areaColors  = []color.RGBA{{255, 255, 0, 255}, {255, 0, 255, 255}} // below a curve

	pageColors = strings.NewReplacer(
		"#00FF00", "var(--text)", "#00FFFF", "var(--grid)",
		"#FF0000", "var(--curve-1)", "#0000FF", "var(--curve-2)",
		"#FFFF00", "var(--area-1)", "#FF00FF", "var(--area-2)",
	)
)

// svg draws the chart, as an element of a page.
func (c *chart) svg() template.HTML {
	p := plot.New()
	p.BackgroundColor = nil
	c.x.apply(&p.X)
	c.y.apply(&p.Y)
	p.Y.Width = 0
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: gridColor, Width: 0.7}
	grid.Vertical = grid.Horizontal
	p.Add(grid)
	for _, l := range c.lines {
		l.addTo(p, c.y.min)
	}

	canvas := vgsvg.New(chartWidth, chartHeight)
	p.Draw(draw.Crop(draw.New(canvas), 1, -16, 2, -8)) // room for the last labels
	var b bytes.Buffer
	_, _ = canvas.WriteTo(&b) // a buffer takes everything
	_, drawing, _ := strings.Cut(b.String(), "xlink\">")
	open := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="`, chartWidth, chartHeight)
	return template.HTML(open + html.EscapeString(c.about) + `">` + pageColors.Replace(drawing))
}

func (l *line) addTo(p *plot.Plot, bottom float64) {
	if len(l.points) == 0 {
		return
	}
	xys := make(plotter.XYs, len(l.points))
	for i, pt := range l.points {
		xys[i] = plotter.XY{X: pt.x, Y: math.Max(pt.y, bottom)}
	}
	ink := curveColors[l.color]
	if l.dots || len(xys) == 1 { // a line of one point would not be seen
		dot := &plotter.Scatter{XYs: xys, GlyphStyle: draw.GlyphStyle{Color: ink, Radius: 3.5, Shape: draw.CircleGlyph{}}}
		p.Add(keepRange{dot})
		return
	}
	style := draw.LineStyle{Color: ink, Width: 2}
	if l.dashed {
		style.Width, style.Dashes = 1.6, []vg.Length{5, 3}
	}
	path := &plotter.Line{XYs: xys, LineStyle: style}
	if l.filled {
		path.FillColor = areaColors[l.color]
	}
	p.Add(keepRange{path})
}

// keepRange hides the range of the data: that of the axes is chosen already.
type keepRange struct{ plot.Plotter }

var chartFont = font.Font{Typeface: "Liberation", Variant: "Sans", Size: chartText}
