package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// readPage is an HTML report as its tests see it.
type readPage struct {
	text   string              // of the elements
	tables map[string]pageRows // by caption
	bad    []string            // the cells in red
	cards  []string            // the text of each
	charts int
}

type pageRows [][]string

// cell returns the cell of a row in a column, from 1.
func (r pageRows) cell(t *testing.T, row string, column int) string {
	t.Helper()
	for _, cells := range r {
		if cells[0] == row && column < len(cells) {
			return cells[column]
		}
	}
	t.Fatalf("no row %q with %d columns in %q", row, column, r)
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// parsePage reads a report, and checks what is true of each.
func parsePage(t *testing.T, dir string) *readPage {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := html.Parse(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	p := &readPage{tables: map[string]pageRows{}}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		wantNoReference(t, n)
		switch {
		case n.Data == "main":
			p.text = textOf(n)
		case n.Data == "table":
			p.addTable(t, n)
		case n.Data == "svg":
			p.charts++
			if attr(n, "role") != "img" || attr(n, "aria-label") == "" || attr(n, "viewbox")+attr(n, "viewBox") == "" {
				t.Errorf("the attributes of an SVG are %v", n.Attr)
			}
		case n.Data == "td" && attr(n, "class") == "bad":
			p.bad = append(p.bad, textOf(n))
		case n.Data == "article":
			p.cards = append(p.cards, textOf(n))
		}
	}
	wantDrawings(t, string(text), p.charts)
	return p
}

// wantNoReference checks that an element does not load anything.
func wantNoReference(t *testing.T, n *html.Node) {
	t.Helper()
	if slices.Contains([]string{"script", "link", "iframe", "img", "image", "object", "base", "a"}, n.Data) {
		t.Errorf("the page has an element %s", n.Data)
	}
	for _, a := range n.Attr {
		if slices.Contains([]string{"src", "href", "srcset", "action", "data"}, a.Key) || strings.HasPrefix(a.Key, "on") ||
			strings.Contains(a.Val, "//") && a.Val != "http://www.w3.org/2000/svg" && a.Key != "aria-label" {
			t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
		}
	}
	if style := textOf(n); n.Data == "style" && (strings.Contains(style, "url(") || strings.Contains(style, "@import")) {
		t.Error("the style sheet refers to another file")
	}
}

func (p *readPage) addTable(t *testing.T, table *html.Node) {
	t.Helper()
	var caption string
	var rows pageRows
	for n := range table.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "caption":
			caption = textOf(n)
		case n.Data == "tr":
			rows = append(rows, nil)
		case n.Data == "th" || n.Data == "td":
			rows[len(rows)-1] = append(rows[len(rows)-1], textOf(n))
			if n.Data == "th" && attr(n, "scope") == "" {
				t.Errorf("table %q: the heading %q has no scope", caption, textOf(n))
			}
		}
	}
	if caption == "" || p.tables[caption] != nil {
		t.Errorf("the caption %q is missing or there twice", caption)
	}
	for _, row := range rows {
		if len(row) != len(rows[0]) {
			t.Errorf("table %q: row %q, want as many cells as %q", caption, row, rows[0])
		}
	}
	p.tables[caption] = rows
}

// wantDrawings checks that the SVGs are XML and that their numbers are numbers.
func wantDrawings(t *testing.T, text string, charts int) {
	t.Helper()
	found := 0
	for {
		_, rest, more := strings.Cut(text, "<svg")
		if !more {
			break
		}
		drawing, rest, _ := strings.Cut(rest, "</svg>")
		text = rest
		found++
		dec := xml.NewDecoder(strings.NewReader("<svg" + drawing + "</svg>"))
		for {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("SVG %d: %v", found, err)
			}
		}
		for _, wrong := range []string{"NaN", "Inf", "#"} { // colours are variables
			if strings.Contains(drawing, wrong) {
				t.Errorf("SVG %d has %s", found, wrong)
			}
		}
	}
	if found != charts {
		t.Errorf("%d SVGs, %d elements", found, charts)
	}
}

// made is a run of n samples that take 1 ms, 2 ms, 3 ms and so on, one after the other.
// The first failed ones fail.
func made(locked bool, n, failed int, counted *int64) *outcome {
	r := newRecorder()
	at := r.shards[0].series.start
	for i := range n {
		var err error
		if i < failed {
			err = errors.New("<b>no</b> & never")
		}
		elapsed := time.Duration(i+1) * time.Millisecond
		r.add(i, int64(min(i+1, 5)), at, elapsed, err)
		at = at.Add(elapsed)
	}
	o := &outcome{label: labelOf("wrap", locked), locked: locked, counted: counted}
	o.tally, o.series, o.faults = r.total()
	return o
}

func number(n int64) *int64 { return &n }

// written returns the page of a report.
func written(t *testing.T, r *jsonReport) *readPage {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new", "report")
	file, err := openPage(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := newPage(r).write(file); err != nil {
		t.Fatal(err)
	}
	return parsePage(t, dir)
}

func TestPage(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "-users", "5", "-loops", "200", "-hold", "3ms")
	runs := []*outcome{made(true, 1000, 0, number(1000)), made(false, 1000, 10, number(90))}
	p := written(t, newJSONReport(c, time.Date(2026, 11, 22, 22, 30, 0, 5, time.UTC), runs, false))

	stats := p.tables["Statistics"]
	if want := []string{"", "With the lock", "Without the lock"}; !slices.Equal(stats[0], want) {
		t.Errorf("columns %q, want %q", stats[0], want)
	}
	for i, o := range runs {
		for row, want := range map[string]string{
			"Samples": "1,000", "Errors": []string{"0", "10"}[i], "Error %": []string{"0.00", "1.00"}[i],
			"Average, ms": ms(o.tally.mean()), "Min, ms": "1.00", "Max, ms": "1,000",
			"Median, ms": ms(o.tally.percentile(50)), "90%, ms": ms(o.tally.percentile(90)),
			"95%, ms": ms(o.tally.percentile(95)), "99%, ms": ms(o.tally.percentile(99)),
			"Throughput, /s":       throughput(o.tally.throughput()),
			"Increments confirmed": []string{"1,000", "990"}[i], "Increments counted": []string{"1,000", "90"}[i],
			"Increments lost": []string{"0", "900"}[i],
		} {
			if got := stats.cell(t, row, i+1); got != want {
				t.Errorf("%s, %s: %s, want %s", o.label, row, got, want)
			}
		}
	}
	if want := []string{"10", "1.00", "900"}; !slices.Equal(p.bad, want) {
		t.Errorf("red are %q, want %q", p.bad, want)
	}
	for i, want := range []string{"With the lock exact 1,000 of 1,000 increments were counted ", "Without the lock 900 lost 90 of 990 increments were counted "} {
		if !strings.HasPrefix(p.cards[i], want) {
			t.Errorf("card %q, want %q", p.cards[i], want)
		}
	}
	errorRows := p.tables["Errors by message: samples and share of all samples"]
	if want := []string{"<b>no</b> & never", "0 (0.00%)", "10 (1.00%)"}; len(errorRows) != 2 || !slices.Equal(errorRows[1], want) {
		t.Errorf("errors %q, want %q", errorRows, want)
	}
	for row, want := range map[string]string{
		"Date": "2026-11-22 22:30:00 UTC", "Plan": "wrap", "Users": "5", "Loops": "200", "Ramp-up": "1s",
		"Think time": "100ms", "Hold": "3ms", "Keys": "1", "Backend": "embedded",
	} {
		if got := p.tables["Settings and machine"].cell(t, row, 1); got != want {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
	}
	if p.charts != 7 { // errors, too
		t.Errorf("%d charts, want 7", p.charts)
	}
}

// The series, the histogram and the percentiles of a report are about the same samples
// as its statistics.
func TestReportAgreesWithItself(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 9, 10, 99, 3000} {
		o := made(true, n, n/3, number(0))
		r := newJSONRun(mustParse(t), o)
		var samples, failed, binned int64
		for _, p := range r.Series.Points {
			samples, failed = samples+p.Samples, failed+p.Errors
			if p.Samples > 0 && (p.P50 > p.P99 || p.P99 > 1.04*r.Max || p.P50 < 0.96*r.Min || p.Users < 1) {
				t.Errorf("%d samples: point %+v", n, p)
			}
		}
		for i, b := range r.Histogram {
			binned += b.Samples
			if b.From >= b.To || i > 0 && b.From != r.Histogram[i-1].To {
				t.Errorf("%d samples: bin %+v", n, b)
			}
		}
		if want := int64(n); samples != want || binned != want || r.Samples != want || failed != r.Errors {
			t.Errorf("%d samples: series %d, histogram %d, statistics %d; errors %d and %d", n, samples, binned, r.Samples, failed, r.Errors)
		}
		last := len(r.Percentiles) - 1
		if r.Percentiles[0] != (jsonPercentile{0, r.Min}) || r.Percentiles[last] != (jsonPercentile{100, r.Max}) {
			t.Errorf("%d samples: percentiles from %v to %v", n, r.Percentiles[0], r.Percentiles[last])
		}
		for i, p := range r.Percentiles[1:] {
			if before := r.Percentiles[i]; p.Percent <= before.Percent || p.Time < before.Time {
				t.Errorf("%d samples: %v after %v", n, p, before)
			}
		}
		// The finest has about one sample above.
		if finest := r.Percentiles[last-1].Percent; n >= 10 && math.Abs(float64(n)*(100-finest)/100-1) > 1 {
			t.Errorf("%d samples: the percentage before 100 is %v", n, finest)
		}
	}
}

func TestPageOfOddRuns(t *testing.T) {
	t.Parallel()
	long := newRecorder()
	for at := time.Duration(0); at < 5*time.Hour; at += time.Second {
		long.add(int(at.Seconds()), 3, long.shards[0].series.start.Add(at), 700*time.Millisecond, nil)
	}
	hours := &outcome{label: "wrap lock", locked: true, counted: number(18000)}
	hours.tally, hours.series, hours.faults = long.total()

	unknown := made(true, 5, 0, nil)
	cut := made(true, 0, 0, number(0))
	cut.cutShort = 3
	for name, test := range map[string]struct {
		runs        []*outcome
		interrupted bool
		card        string
		charts      int
		has         string
	}{
		"one setting":       {[]*outcome{made(false, 10, 0, number(10))}, false, "Without the lock exact", 6, "Settings and machine"},
		"one sample":        {[]*outcome{made(true, 1, 0, number(1))}, false, "With the lock exact 1 of 1", 6, ""},
		"all failed":        {[]*outcome{made(true, 20, 20, number(0))}, false, "With the lock none no increment was confirmed", 7, "20 errors"},
		"no sample":         {[]*outcome{cut}, true, "With the lock none", 6, "0 errors 3 cut short"},
		"unknown":           {[]*outcome{unknown}, false, "With the lock unknown of 5 increments", 6, "unknown"},
		"more":              {[]*outcome{made(true, 5, 0, number(7))}, false, "With the lock 2 more 7 increments were counted, 5 confirmed", 6, "-2"},
		"lost":              {[]*outcome{made(true, 5, 0, number(3))}, false, "With the lock 2 lost 3 of 5", 6, "2"},
		"hours":             {[]*outcome{hours}, false, "With the lock exact 18,000 of 18,000", 6, "4 h"},
		"interrupted":       {[]*outcome{made(true, 7, 0, number(7))}, true, "With the lock exact 7 of 7", 6, "The load was interrupted: these are the results until then."},
		"before the first":  {nil, true, "", 0, "The load did not begin: there are no results."},
		"none and hundreds": {[]*outcome{cut, made(false, 300, 0, number(300))}, true, "With the lock none", 6, "Without the lock exact"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := written(t, newJSONReport(mustParse(t), time.Now(), test.runs, test.interrupted))
			if p.charts != test.charts {
				t.Errorf("%d charts, want %d", p.charts, test.charts)
			}
			if test.card != "" && !strings.HasPrefix(p.cards[0], test.card) {
				t.Errorf("card %q, want %q", p.cards[0], test.card)
			}
			if len(p.cards) != len(test.runs) {
				t.Errorf("%d cards", len(p.cards))
			}
			wantContains(t, p.text, test.has)
		})
	}
}

// What comes from flags and servers is text in the page, and passwords are not in it.
func TestPageOfStrangeNames(t *testing.T) {
	t.Parallel()
	const evil = `<script>alert("1")</script>`
	for want, args := range map[string][]string{
		"backend redis://" + evil + "/0":  {"-backend", "redis://user:secret@" + evil + "/0?password=secret"},
		"target http://shop.example/a&b'": {"-plan", "http", "-target", "http://shop.example/a&b'"},
	} {
		r := newJSONReport(mustParse(t, args...), time.Now(), []*outcome{made(true, 3, 1, number(2))}, false)
		p := written(t, r)
		wantContains(t, p.text, want)
		for _, text := range []string{p.text, r.Settings.Backend} {
			if strings.Contains(text, "secret") || strings.Contains(text, "user:") {
				t.Errorf("a password is in %q", text)
			}
		}
	}
}

// TestReportFlag: the page of a real run has the numbers of its -json, and -from makes
// the same page again.
func TestReportFlag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	js, direct, again := filepath.Join(dir, "a.json"), filepath.Join(dir, "direct"), filepath.Join(dir, "again")
	got := runArgs(t.Context(), "-users", "20", "-loops", "3", "-ramp-up", "10ms", "-think", "1ms", "-hold", "1ms", "-json", js, "-report", direct)
	got.wantCode(t, 0)
	p := parsePage(t, direct)
	for i, run := range readJSON(t, js) {
		for row, field := range map[string]string{
			"Samples": "samples", "Errors": "errors", "Increments confirmed": "expected", "Increments counted": "counted",
		} {
			if cell, want := p.tables["Statistics"].cell(t, row, i+1), group(int64(run[field].(float64))); cell != want {
				t.Errorf("%s: %s, want %s", row, cell, want)
			}
		}
		for row, field := range map[string]string{"Average, ms": "mean_ms", "Median, ms": "p50_ms", "99%, ms": "p99_ms", "Max, ms": "max_ms"} {
			if cell, want := p.tables["Statistics"].cell(t, row, i+1), timeNumber(run[field].(float64)); cell != want {
				t.Errorf("%s: %s, want %s", row, cell, want)
			}
		}
	}
	runArgs(t.Context(), "-from", js, "-report", again).wantCode(t, 0)
	if q := parsePage(t, again); q.text != p.text {
		t.Errorf("from the file:\n%s\nwant\n%s", q.text, p.text)
	}
}
