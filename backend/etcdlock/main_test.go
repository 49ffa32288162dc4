package etcdlock_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(child.Main{Tests: m}) }

// watchersOf returns how many watches a server has.
func watchersOf(t *testing.T, s *etcdtest.Server) (n int) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + s.Addr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(string(text), "\netcd_debugging_mvcc_watcher_total ")
	if _, err := fmt.Sscan(value, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// failFast ends the tests if this one takes longer than that in real time: in a bubble only what
// spins does. It is called outside.
func failFast(t *testing.T, limit time.Duration) {
	t.Helper()
	spins := time.AfterFunc(limit, func() { panic(t.Name() + " spins") })
	t.Cleanup(func() { spins.Stop() })
}
