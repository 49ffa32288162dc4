package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/testkit"
)

// TestAlertRules checks the files for Prometheus with its own tool, and when the alerts
// fire.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	promtool := program(t, "promtool")
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = "prometheus"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// rule is an alert, as Prometheus has read it.
type rule struct {
	Name, Query, Health, State string
	Annotations                map[string]string
	Alerts                     []struct{ Annotations map[string]string }
}

// checkAlerts checks that each rule uses what /metrics has, says what to do, and links
// to a heading that exists. Those that the load must raise are raised, and no others.
func checkAlerts(t *testing.T, p *prometheusServer, m metrics) {
	t.Helper()
	want := map[string]string{
		"DistlockLeaseLost":        "firing",
		"DistlockRenewalsFail":     "pending",
		"DistlockStoreUnavailable": "pending",
		"DistlockWaitsLong":        "inactive",
		"DistlockQueueGrows":       "inactive",
	}
	var rules []rule
	testkit.Eventually(t, "Prometheus evaluates the rules", func() bool {
		var data struct{ Groups []struct{ Rules []rule } }
		p.get(t, "/api/v1/rules?type=alert", &data)
		if len(data.Groups) != 1 {
			t.Fatalf("%d groups of rules", len(data.Groups))
		}
		rules = data.Groups[0].Rules
		for _, r := range rules {
			if r.State != want[r.Name] {
				return false
			}
		}
		return true
	})
	if len(rules) != len(want) {
		t.Errorf("%d rules, want %d", len(rules), len(want))
	}
	for _, r := range rules {
		if r.Health != "ok" {
			t.Errorf("%s is %s", r.Name, r.Health)
		}
		m.checkNames(t, r.Name, r.Query)
		for _, annotation := range []string{"summary", "description", "action"} {
			if r.Annotations[annotation] == "" {
				t.Errorf("%s has no %s", r.Name, annotation)
			}
		}
		checkRunbook(t, r)
		if r.Name == "DistlockLeaseLost" && r.Alerts[0].Annotations["summary"] != "shop: a lease of shop:item was lost" {
			t.Errorf("%s says: %s", r.Name, r.Alerts[0].Annotations["summary"])
		}
	}
}

// checkRunbook checks that a rule links to a heading of the documentation.
func checkRunbook(t *testing.T, r rule) {
	t.Helper()
	path, anchor, _ := strings.Cut(strings.TrimPrefix(r.Annotations["runbook_url"], "https://github.com/distlock-go/distlock/blob/main/"), "#")
	text, err := os.ReadFile("../" + path)
	if err != nil {
		t.Errorf("%s: %v", r.Name, err)
	}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		if anchor == strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-") {
			return
		}
	}
	t.Errorf("%s: %s has no heading %s", r.Name, path, anchor)
}
