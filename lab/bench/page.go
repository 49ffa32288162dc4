package main

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"time"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle template.CSS

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is the HTML report: of the runs of one file, or of two files beside each other.
type page struct {
	Style    template.CSS
	Title    string
	Lead     []string // what the results show
	Groups   []panel
	Settings *grid // of a comparison
	Notes    []string
}

// card shows a result in large type.
type card struct {
	Name    string
	Verdict string // "exact", "lost" or "unknown"
	Big     string
	Small   string
	Figures []string
}

// panel sets curves beside each other, in charts and tables.
type panel struct {
	Heading string
	Cards   []card
	Figures []figure
	Faults  []grid
	Tables  []grid // the statistics first
	Data    []grid
}

// grid is a table. The first cell of a row is its heading.
type grid struct {
	Caption string
	Header  []string
	Rows    [][]cell
	Text    bool // text instead of numbers
}

type cell struct {
	Text string
	Bad  bool
}

// newPage returns the report of one file.
func newPage(r *jsonReport) *page {
	p := &page{Style: pageStyle, Title: "Load report: " + r.Settings.load()}
	var curves []curve
	for i := range r.Runs {
		curves = append(curves, curve{lockName(r.Runs[i].Lock), &r.Runs[i]})
	}
	p.Lead = []string{r.origin()}
	if len(curves) > 0 {
		p.Groups = []panel{newPanel("", curves, statistics(curves), settingsGrid(nil, r))}
	}
	switch {
	case len(r.Runs) == 0:
		p.Notes = []string{"The load did not begin: there are no results."}
	case r.Interrupted:
		p.Notes = []string{"The load was interrupted: these are the results until then."}
	}
	return p
}

// load says what the users did.
func (s *jsonSettings) load() string {
	return fmt.Sprintf("%s, %s users × %s loops", s.Plan, group(int64(s.Users)), group(int64(s.Loops)))
}

// origin says where the locks were, and when.
func (r *jsonReport) origin() string {
	s := "backend " + r.Settings.Backend
	if r.Settings.Backend == "" {
		s = "target " + r.Settings.Target
	}
	return s + ", " + r.Date.Format("2 January 2006, 15:04 MST")
}

func lockName(lock string) string {
	if lock == "on" {
		return "With the lock"
	}
	return "Without the lock"
}

func newCard(c curve) card {
	r := c.run
	d := card{
		Name: c.Name,
		Figures: []string{
			throughput(r.Throughput) + " samples/s", "median " + timeLabel(r.P50), "99% " + timeLabel(r.P99),
			group(r.Errors) + " errors",
		},
	}
	if r.CutShort > 0 {
		d.Figures = append(d.Figures, group(r.CutShort)+" cut short")
	}
	lost, known := r.lost()
	switch {
	case !known:
		d.Verdict, d.Big = "unknown", "unknown"
		d.Small = "of " + group(r.Expected) + " increments"
	case lost > 0:
		d.Verdict, d.Big = "lost", group(lost)+" lost"
		d.Small = group(*r.Counted) + " of " + group(r.Expected) + " increments were counted"
	case lost < 0:
		d.Verdict, d.Big = "unknown", group(-lost)+" more"
		d.Small = group(*r.Counted) + " increments were counted, " + group(r.Expected) + " confirmed"
	case r.Expected == 0:
		d.Verdict, d.Big, d.Small = "unknown", "none", "no increment was confirmed"
	default:
		d.Verdict, d.Big, d.Small = "exact", "exact", group(*r.Counted)+" of "+group(r.Expected)+" increments were counted"
	}
	return d
}

func newPanel(heading string, curves []curve, tables ...grid) panel {
	p := panel{Heading: heading, Tables: tables, Figures: figures(curves)}
	for _, c := range curves {
		p.Cards = append(p.Cards, newCard(c))
	}
	if faults := faultsGrid(curves); len(faults.Rows) > 0 {
		p.Faults = []grid{faults}
	}
	p.Data = []grid{percentileGrid(curves), histogramGrid(curves), seriesGrid(curves)}
	if heading != "" {
		for _, tables := range [][]grid{p.Tables, p.Faults, p.Data} {
			for i := range tables {
				tables[i].Caption += ": " + heading
			}
		}
	}
	return p
}

// write writes the page and closes w.
func (p *page) write(w io.WriteCloser) error {
	return errors.Join(pageTemplate.Execute(w, p), w.Close())
}

// faultsGrid has a row for each message, the most frequent first.
func faultsGrid(curves []curve) grid {
	g := grid{Caption: "Errors by message: samples and share of all samples", Header: []string{"Message"}}
	sums := faults{}
	counts := make([]faults, len(curves))
	for i, c := range curves {
		g.Header = append(g.Header, c.Name)
		counts[i] = faults{}
		for _, f := range c.run.Faults {
			sums[f.Message] += f.Samples
			counts[i][f.Message] += f.Samples
		}
	}
	for _, message := range sums.sorted() {
		row := []cell{{Text: message}}
		for i, c := range curves {
			n := counts[i][message]
			row = append(row, cell{Text: fmt.Sprintf("%s (%.2f%%)", group(n), 100*float64(n)/float64(max(c.run.Samples, 1)))})
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func settingsGrid(names []string, reports ...*jsonReport) grid {
	g := grid{Caption: "Settings and machine", Text: true}
	if len(names) > 0 {
		g.Header = append([]string{""}, names...)
	}
	row := func(name string, value func(*jsonReport) string) {
		cells, empty := []cell{{Text: name}}, true
		for _, r := range reports {
			v := value(r)
			empty = empty && v == ""
			cells = append(cells, cell{Text: v})
		}
		if !empty {
			g.Rows = append(g.Rows, cells)
		}
	}
	row("Date", func(r *jsonReport) string { return r.Date.Format(time.DateTime + " MST") })
	row("Plan", func(r *jsonReport) string { return r.Settings.Plan })
	row("Users", func(r *jsonReport) string { return group(int64(r.Settings.Users)) })
	row("Loops", func(r *jsonReport) string { return group(int64(r.Settings.Loops)) })
	row("Ramp-up", func(r *jsonReport) string { return duration(r.Settings.RampUp).String() })
	row("Think time", func(r *jsonReport) string { return duration(r.Settings.Think).String() })
	row("Hold", func(r *jsonReport) string {
		if r.Settings.Plan != "wrap" {
			return ""
		}
		return duration(r.Settings.Hold).String()
	})
	row("Keys", func(r *jsonReport) string { return group(int64(r.Settings.Keys)) })
	row("Backend", func(r *jsonReport) string { return r.Settings.Backend })
	row("Target", func(r *jsonReport) string { return r.Settings.Target })
	row("CPU", func(r *jsonReport) string { return fmt.Sprintf("%s, %d CPUs", r.Machine.Model(), r.Machine.CPUs) })
	row("System", func(r *jsonReport) string { return r.Machine.OS + ", " + r.Machine.Go })
	return g
}
