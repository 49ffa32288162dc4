package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// dashboard has the parts of grafana/dashboard.json that the tests check.
type dashboard struct {
	SchemaVersion int
	Templating    struct{ List []variable }
	Panels        []panel
}

type variable struct {
	Name, Type, Definition string
	Multi, IncludeAll      bool
}

type panel struct {
	ID          int
	Type, Title string
	Description string
	GridPos     struct{ X, Y, W, H int }
	Datasource  struct{ Type, UID string }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct {
		RefID, Expr, LegendFormat string
		Instant                   bool
		Datasource                struct{ Type, UID string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("grafana/dashboard.json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDashboard checks what Grafana expects of a dashboard.
func TestDashboard(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	if d.SchemaVersion < 39 { // of Grafana 11
		t.Errorf("the version of the schema is %d", d.SchemaVersion)
	}
	if vars := d.Templating.List; len(vars) != 2 || vars[0].Name != "datasource" || vars[0].Type != "datasource" ||
		vars[1].Name != "name" || !vars[1].Multi || !vars[1].IncludeAll || vars[1].Definition != "label_values(distlock_waiting, distlock_name)" {
		t.Errorf("the variables are %+v", vars)
	}
	taken := map[[2]int]string{}
	var ids []int
	for _, p := range d.Panels {
		if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 || slices.Contains(ids, p.ID) {
			t.Errorf("not a whole panel: %+v", p)
		}
		ids = append(ids, p.ID)
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s is beyond the right edge", p.Title)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" {
					t.Fatalf("%s is on top of %s", p.Title, taken[at])
				}
				taken[at] = p.Title
			}
		}
		var refs []string
		for _, q := range p.Targets {
			if q.Datasource.Type != "prometheus" || q.Datasource.UID != "${datasource}" || p.Datasource.UID != "${datasource}" ||
				q.LegendFormat == "" || slices.Contains(refs, q.RefID) || q.Instant != (p.Type == "stat") {
				t.Errorf("%s: %+v", p.Title, q)
			}
			refs = append(refs, q.RefID)
			if strings.Count(q.Expr, "{") != strings.Count(q.Expr, `{distlock_name=~"$name"`) {
				t.Errorf("%s is not for the chosen locks: %s", p.Title, q.Expr)
			}
		}
	}
}

// variables are what Grafana replaces in queries.
var variables = strings.NewReplacer("$name", "shop:item|.*", "$__rate_interval", "5m", "$__range", "5m")

// checkPanels evaluates the queries of all panels with one of the titles.
func checkPanels(t *testing.T, p *prometheusServer, want map[string]float64) (err error) {
	t.Helper()
	for _, panel := range readDashboard(t).Panels {
		value, ok := want[panel.Title]
		if !ok {
			continue
		}
		for _, q := range panel.Targets {
			if found := p.query(t, variables.Replace(q.Expr)); len(found) != 1 || found[0].value != value {
				err = errors.Join(err, fmt.Errorf("%s is %v, want %v: %s", panel.Title, found, value, q.Expr))
			}
		}
	}
	return err
}

// checkDashboard evaluates each query. Each series that a
// query selects has the value that m has, and the queries have the results that the load
// must have.
func checkDashboard(t *testing.T, p *prometheusServer, m metrics) {
	t.Helper()
	results := map[string][]series{}
	for _, panel := range readDashboard(t).Panels {
		for _, q := range panel.Targets {
			expr := variables.Replace(q.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s: an unknown variable: %s", panel.Title, expr)
			}
			m.checkNames(t, panel.Title, expr)
			for _, selected := range selector.FindAllString(expr, -1) {
				p.checkSelected(t, selected, m)
			}
			found := p.query(t, expr)
			if len(found) == 0 {
				t.Errorf("%s: no data: %s", panel.Title, expr)
			}
			for _, s := range found {
				legend := q.LegendFormat
				for label, value := range s.labels {
					legend = strings.ReplaceAll(legend, "{{"+label+"}}", value)
				}
				if strings.Contains(legend, "{{") {
					t.Errorf("%s: the legend is %s, of %v", panel.Title, legend, s.labels)
				}
				results[panel.Title+"/"+legend] = append(results[panel.Title+"/"+legend], s)
			}
		}
	}

	positive := func(v float64) bool { return v > 0 }
	seconds := func(v float64) bool { return v > 0 && v <= 30 }
	for name, ok := range map[string]func(float64) bool{
		"Locks taken/Locks taken":                          func(v float64) bool { return v > 0 && v <= 2*(m.of(waits, "acquired")+m.of(waits, "handed_over")) },
		"Losses/Losses":                                    positive,
		"Failed renewals/Failed renewals":                  positive,
		"Acquisitions by outcome/acquired":                 positive,
		"Acquisitions by outcome/handed_over":              positive,
		"Acquisitions by outcome/reentered":                positive,
		"Wait for a lock/p50":                              seconds,
		"Wait for a lock/p90":                              seconds,
		"Wait for a lock/p99":                              seconds,
		"Hold, p99/shop:item":                              seconds,
		"Hand-over share/shop:item":                        func(v float64) bool { return v > 0 && v < 1 },
		"Losses and failed renewals/lost shop:item":        positive,
		"Losses and failed renewals/not renewed shop:item": positive,
	} {
		if found := results[name]; len(found) != 1 || !ok(found[0].value) {
			t.Errorf("%s: %v", name, found)
		}
	}
	var quantiles []float64
	for _, quantile := range []string{"p50", "p90", "p99"} {
		for _, s := range results["Wait for a lock/"+quantile] {
			quantiles = append(quantiles, s.value)
		}
	}
	if !slices.IsSorted(quantiles) {
		t.Errorf("the quantiles are %v", quantiles)
	}
}

// checkSelected compares the series that Prometheus has for a selector with m.
func (p *prometheusServer) checkSelected(t *testing.T, selector string, m metrics) {
	t.Helper()
	found := p.query(t, selector)
	if len(found) == 0 {
		t.Errorf("%s selects nothing", selector)
	}
	for _, s := range found {
		name := s.labels["__name__"]
		for _, added := range []string{"__name__", "job", "instance"} {
			delete(s.labels, added)
		}
		if want, ok := m[idOf(name, s.labels)]; !ok || s.value != want {
			t.Errorf("%s is %v in Prometheus and %v in /metrics", fmt.Sprint(name, s.labels), s.value, want)
		}
	}
}
