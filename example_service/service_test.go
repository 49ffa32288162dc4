package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The test binary is also the second process of the scene.
func TestMain(m *testing.M) {
	if os.Getenv(lateEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// startService runs the command in this process, and returns the URL of its page. stop
// ends it and returns its error.
func startService(t *testing.T, args ...string) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, append([]string{"-http", "127.0.0.1:0", "-grpc", "127.0.0.1:0"}, args...), w, io.Discard)
		_ = w.Close()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal(<-ended)
	}
	url = strings.TrimPrefix(lines.Text(), "page on ")
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return strings.TrimSuffix(url, "/"), func() error {
		cancel()
		return <-ended
	}
}

func pageOf(t *testing.T, url string) (s pageState) {
	t.Helper()
	status, body := do(t, "GET", url+"/sale", "")
	if err := json.Unmarshal([]byte(body), &s); err != nil || status != http.StatusOK {
		t.Fatal(status, body)
	}
	return s
}

// The buttons of the page: the sale without the lock and with it, and a holder that is
// really stopped.
func TestPage(t *testing.T) {
	testmode.InRealTime(t)
	url, stop := startService(t)
	if status, body := do(t, "GET", url+"/", ""); status != http.StatusOK || !strings.Contains(body, "one lock") {
		t.Errorf("the page: %d %s", status, body)
	}
	if s := pageOf(t, url); s.Item != (item{shown, pieces, 0}) {
		t.Errorf("before the first sale: %+v", s)
	}
	play := func(name string) pageState {
		t.Helper()
		if status, body := do(t, "POST", url+"/demo/"+name, ""); status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", name, status, body)
		}
		testkit.Eventually(t, name+" ends", func() bool { return pageOf(t, url).Running == "" })
		return pageOf(t, url)
	}
	if s := play("unlocked"); s.Unlocked.Sold+s.Unlocked.SoldOut != buyers || s.Unlocked.Sold < pieces {
		t.Errorf("without the lock: %+v", s)
	}
	if s := play("locked"); s.Locked != (tally{Sold: pieces, SoldOut: buyers - pieces}) || s.Item != (item{shown, 0, pieces}) {
		t.Errorf("with the lock: %+v", s)
	}
	if status, _ := do(t, "POST", url+"/demo/other", ""); status != http.StatusNotFound {
		t.Errorf("another button: %d", status)
	}
	if child.CanStop {
		s := play("stop")
		if s.Item != (item{shown, pieces - 1, 1}) || len(s.Steps) != 6 {
			t.Errorf("a holder that is stopped: %+v", s)
		}
		for _, step := range s.Steps[2:] {
			if step.Kind == "bad" {
				t.Error(step.Text)
			}
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// The service ends when its orders have ended.
func TestShutdown(t *testing.T) {
	testmode.InRealTime(t)
	url, stop := startService(t, "-think", "2s")
	if status, body := do(t, "PUT", url+"/items/tea", `{"stock":1}`); status != http.StatusOK {
		t.Fatal(body)
	}
	answer := make(chan string, 1)
	go func() {
		_, body := do(t, "POST", url+"/items/tea/orders", `{"buyer":"u1","quantity":1}`)
		answer <- body
	}()
	testkit.Eventually(t, "the order has the lock", func() bool {
		_, body := do(t, "GET", url+"/locks/key?name=shop:item:tea", "")
		return strings.Contains(body, "fingerprint")
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	if body := <-answer; !strings.Contains(body, `"remaining":0`) {
		t.Errorf("the order that had begun: %s", body)
	}
}

func TestFlags(t *testing.T) {
	for want, args := range map[string][]string{
		`unexpected argument: "x"`:        {"x"},
		"-think: want 0 or more, got -1s": {"-think", "-1s"},
		"-wait: want 1ms or more, got 0s": {"-wait", "0"},
		"-redis: want redis://":           {"-http", "127.0.0.1:0", "-grpc", "127.0.0.1:0", "-redis", "secret"},
		"-http: ":                         {"-http", "127.0.0.1:99999"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}
