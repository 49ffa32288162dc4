package etcdtest_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/etcdtest"
)

var shared etcdtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.Close(); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// ask sends a request to the JSON gateway and returns the answer.
func ask(s *etcdtest.Server, path, request string) (string, error) {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Post("http://"+s.Addr()+path, "application/json", strings.NewReader(request))
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	return string(answer), err
}

// TestRestart checks that a killed server has its data after a restart, and that a
// stopped server does not answer.
func TestRestart(t *testing.T) {
	s := etcdtest.Start(t)
	if answer, err := ask(s, "/v3/kv/put", `{"key":"YQ==","value":"Yg=="}`); err != nil {
		t.Fatal(answer, err)
	}
	s.Kill()
	if answer, err := ask(s, "/v3/kv/range", `{"key":"YQ=="}`); err == nil {
		t.Fatalf("a killed server answers %s", answer)
	}
	s.Restart(t)
	s.Stop(t)
	if answer, err := ask(s, "/v3/kv/range", `{"key":"YQ=="}`); err == nil {
		t.Fatalf("a stopped server answers %s", answer)
	}
	s.Cont(t)
	if answer, err := ask(s, "/v3/kv/range", `{"key":"YQ=="}`); err != nil || !strings.Contains(answer, `"value":"Yg=="`) {
		t.Fatalf("the key has gone: %s, %v", answer, err)
	}
}

// TestShared checks that all tests get one server.
func TestShared(t *testing.T) {
	if a, b := shared.Server(t), shared.Server(t); a != b {
		t.Fatalf("%v and %v", a, b)
	}
}
