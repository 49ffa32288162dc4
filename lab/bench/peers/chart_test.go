package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestChart(t *testing.T) {
	svg := drawChart([]curve{
		{class: "ours", name: ours, top: true, points: []point{{2, 0.985}, {8, 0.98}, {64, 1}, {1000, 0.99}}},
		{class: "them", name: "a < b", points: []point{{2, 0}, {8, 0.13}, {64, 0.374}, {1000, 0.9}}},
	})
	d := xml.NewDecoder(strings.NewReader(svg))
	elements := make(map[string]int)
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if e, ok := tok.(xml.StartElement); ok {
			elements[e.Name.Local]++
		}
	}
	if elements["circle"] != 8 || elements["polyline"] != 2 {
		t.Errorf("%v", elements)
	}
	for _, want := range []string{">98.5%<", ">37%<", ">1,000<", ">a &lt; b<", "log scale", chartYLabel, "prefers-color-scheme: dark"} {
		if !strings.Contains(svg, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Contains(svg, "%!") {
		t.Errorf("a verb without its argument in\n%s", svg)
	}
}

// Equal ratios have equal distances, larger values are higher, and all points are
// inside.
func TestChartScale(t *testing.T) {
	a, b, c := chartXAt(2, 2, 1000), chartXAt(20, 2, 1000), chartXAt(200, 2, 1000)
	if d := (c - b) - (b - a); d > 1e-9 || d < -1e-9 {
		t.Errorf("%v, %v, %v", a, b, c)
	}
	if chartY(0) != plotBottom || chartY(1) != plotTop {
		t.Errorf("from %v to %v", chartY(0), chartY(1))
	}
	if x := chartXAt(1000, 2, 1000); x > plotRight {
		t.Errorf("%v", x)
	}
}

func TestNothingToDraw(t *testing.T) {
	if err := new(bench).writeSVG(t.TempDir() + "/x.svg"); !errors.Is(err, errNoCurve) {
		t.Errorf("got %v", err)
	}
}
