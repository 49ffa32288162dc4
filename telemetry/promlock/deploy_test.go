package promlock_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/telemetry/promlock"
)

const deploy = "../../example_service/deploy"

// The dashboard and the alerts ask for metrics that exist.
func TestDeployedNames(t *testing.T) {
	descriptions := make(chan *prometheus.Desc, 100)
	promlock.New().Describe(descriptions)
	close(descriptions)
	exported := map[string]bool{}
	for d := range descriptions {
		name := regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]
		exported[name] = true
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			exported[name+suffix] = exported[name+suffix] || strings.HasSuffix(name, "_seconds")
		}
	}
	labels := map[string]bool{"distlock_name": true, "distlock_mode": true, "distlock_outcome": true}
	for _, file := range []string{"grafana/dashboard.json", "prometheus/alerts.yml"} {
		text, err := os.ReadFile(filepath.Join(deploy, file))
		if err != nil {
			t.Fatal(err)
		}
		used := regexp.MustCompile(`\bdistlock_\w+`).FindAllString(string(text), -1)
		if len(used) == 0 {
			t.Errorf("%s uses no metric", file)
		}
		for _, name := range used {
			if !exported[name] && !labels[name] {
				t.Errorf("%s uses %s, which promlock does not export", file, name)
			}
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is not JSON", file)
		}
	}
}

// The alerts fire when alerts_test.yml says so.
func TestAlertRules(t *testing.T) {
	testmode.Long(t)
	promtool, err := child.LookPath("promtool", "the alerts")
	if err != nil {
		child.Need(t, err)
	}
	for _, args := range [][]string{{"check", "config", "prometheus.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = filepath.Join(deploy, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
