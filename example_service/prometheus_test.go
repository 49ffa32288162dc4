package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/child"
	"github.com/distlock-go/distlock/internal/testkit"
)

// program returns the path of a program. The test is skipped without it; see
// [child.Need].
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := child.LookPath(name, "needs "+name+", which is in Debian's package prometheus")
	child.Need(t, err)
	return path
}

// prometheusServer is a real Prometheus with the files in the directory prometheus. It
// reads the metrics of one service.
type prometheusServer struct {
	base   string
	client *http.Client
	at     string // when expressions are evaluated; empty: now

	launched chan struct{} // closed when err is known
	err      error
}

// every is how often it reads the metrics and evaluates the rules.
const every = "300ms"

// startPrometheus does not wait: Prometheus takes five seconds to begin.
func startPrometheus(t *testing.T, bin, target string) *prometheusServer {
	t.Helper()
	dir := t.TempDir()
	for name, change := range map[string]*strings.Replacer{
		"prometheus.yml": strings.NewReplacer("127.0.0.1:8080", target, "interval: 5s", "interval: "+every),
		"alerts.yml":     strings.NewReplacer(),
	} {
		text, err := os.ReadFile(filepath.Join("prometheus", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(change.Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{}
	p := &prometheusServer{client: &http.Client{Transport: transport, Timeout: time.Minute}, launched: make(chan struct{})}
	server := &child.Server{Name: "Prometheus", Ports: make([]int, 1)}
	server.Command = func() (*exec.Cmd, error) {
		p.base = "http://" + server.Addr()
		return exec.Command(bin, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
			"--web.listen-address="+server.Addr(), "--log.level=warn"), nil
	}
	server.Ready = func() bool {
		res, err := p.client.Get(p.base + "/-/ready")
		return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
	}
	go func() {
		defer close(p.launched)
		p.err = child.Launch(server)
	}()
	t.Cleanup(func() {
		<-p.launched
		transport.CloseIdleConnections()
		server.Kill()
		if t.Failed() {
			t.Logf("Prometheus: %s", server.Log())
		}
	})
	return p
}

// ready waits until Prometheus has read the metrics.
func (p *prometheusServer) ready(t *testing.T) {
	t.Helper()
	if <-p.launched; p.err != nil {
		t.Fatal(p.err)
	}
	p.readAgain(t)
}

// get decodes the data of an answer of the API.
func (p *prometheusServer) get(t *testing.T, path string, data any) {
	t.Helper()
	res, err := p.client.Get(p.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v, %s", path, err, body)
	}
}

// series is a series and its value.
type series struct {
	labels map[string]string
	value  float64
}

// query evaluates an expression that has a vector.
func (p *prometheusServer) query(t *testing.T, expr string) (all []series) {
	t.Helper()
	var data struct {
		ResultType string
		Result     []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	p.get(t, "/api/v1/query?"+url.Values{"query": {expr}, "time": {p.at}}.Encode(), &data)
	if data.ResultType != "vector" {
		t.Fatalf("%s is a %s", expr, data.ResultType)
	}
	for _, r := range data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, series{r.Metric, v})
	}
	return all
}

// readAgain waits until Prometheus has read the metrics once more. After that it
// evaluates expressions at that time: on a busy machine the next attempt may take too
// long, and then there are no values for a moment.
func (p *prometheusServer) readAgain(t *testing.T) {
	t.Helper()
	begun := float64(time.Now().UnixMilli()) / 1000
	p.at = ""
	testkit.Eventually(t, "Prometheus reads the metrics", func() bool {
		read := p.query(t, "timestamp(distlock_losses_total)")
		if len(read) == 1 && read[0].value > begun {
			p.at = strconv.FormatFloat(read[0].value, 'f', 3, 64)
		}
		return p.at != ""
	})
}

// metrics are the series of the locks that a service has, by name and labels as
// /metrics writes them.
type metrics map[string]float64

// metrics reads /metrics.
func (c *client) metrics(t *testing.T) metrics {
	t.Helper()
	m := metrics{}
	for line := range strings.Lines(string(c.must(t, http.StatusOK, "GET", "/metrics", "").body)) {
		if !strings.HasPrefix(line, "distlock_") {
			continue
		}
		id, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		m[id+"}"] = v
	}
	return m
}

// of returns the value of a series of the lock of items, or 0.
func (m metrics) of(name, outcome string) float64 {
	labels := map[string]string{"distlock_name": "shop:item", "distlock_mode": "exclusive"}
	if outcome != "" {
		labels["distlock_outcome"] = outcome
	}
	return m[idOf(name, labels)]
}

// idOf returns the id of a series.
func idOf(name string, labels map[string]string) string {
	var pairs []string
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, label+"="+strconv.Quote(labels[label]))
	}
	return name + "{" + strings.Join(pairs, ",") + "}"
}

var (
	quoted = regexp.MustCompile(`"[^"]*"`)
	apart  = regexp.MustCompile(`\[[^]]*\]|offset \w+`) // what has units of time
	word   = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)

	selector = regexp.MustCompile(`\w+\{[^}]*\}`)
	outcomes = regexp.MustCompile(`distlock_outcome=~?"([^"]*)"`)
)

// promQL are the words of expressions that are not names of metrics or labels.
var promQL = strings.Fields("and by deriv histogram_quantile increase min_over_time or rate sum unless")

// checkNames checks that an expression has no names of metrics and labels, and no
// outcomes, that m does not have. job is the label that Prometheus adds.
func (m metrics) checkNames(t *testing.T, where, expr string) {
	t.Helper()
	known, values := map[string]bool{"job": true}, map[string]bool{}
	for id := range m {
		for _, name := range word.FindAllString(quoted.ReplaceAllString(id, ""), -1) {
			known[name] = true
		}
		for _, outcome := range outcomes.FindAllStringSubmatch(id, -1) {
			values[outcome[1]] = true
		}
	}
	for _, name := range word.FindAllString(apart.ReplaceAllString(quoted.ReplaceAllString(expr, ""), ""), -1) {
		if !known[name] && !slices.Contains(promQL, name) {
			t.Errorf("%s: /metrics has no %s: %s", where, name, expr)
		}
	}
	for _, match := range outcomes.FindAllStringSubmatch(expr, -1) {
		for outcome := range strings.SplitSeq(match[1], "|") {
			if !values[outcome] {
				t.Errorf("%s: /metrics has no outcome %s: %s", where, outcome, expr)
			}
		}
	}
}
