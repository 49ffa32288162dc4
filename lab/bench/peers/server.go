package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	testserver "github.com/distlock-go/distlock/internal/test/child" // this package has a child of its own
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// store is where the locks of a scenario are: the scheme of its URLs.
type store string

const (
	inRedis      store = "" // the server that -redis names, or one that is started
	inZooKeeper  store = "zk"
	inPostgreSQL store = "postgres"
	inEtcd       store = "etcd"
)

// starters start a server of each store in a directory, and return its URL.
var starters = map[store]func(ctx context.Context, dir string) (url string, kill func(), err error){
	inRedis: startRedis,
	inZooKeeper: func(_ context.Context, dir string) (string, func(), error) {
		s, err := zktest.Launch(dir, zktest.Config{Settings: []string{"tickTime=2000"}})
		return "zk://" + s.Addr(), s.Kill, err
	},
	inPostgreSQL: func(_ context.Context, dir string) (string, func(), error) {
		s, err := sqltest.Postgres.Launch(dir, "-c", "fsync=on", "-c", "shared_buffers=128MB")
		return s.URL("postgres"), s.Kill, err
	},
	inEtcd: func(_ context.Context, dir string) (string, func(), error) {
		s, err := etcdtest.Launch(dir)
		return "etcd://" + s.Addr(), s.Kill, err
	},
}

func startRedis(ctx context.Context, dir string) (string, func(), error) {
	bin, err := testserver.LookPath("redis-server", "it needs redis-server in PATH")
	if err != nil {
		return "", nil, err
	}
	s := &testserver.Server{Name: "Redis", Ports: make([]int, 1)}
	s.Command = func() (*exec.Cmd, error) {
		return exec.Command(bin, "--port", strconv.Itoa(s.Ports[0]), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--maxclients", "4000"), nil
	}
	s.Ready = func() bool {
		c := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1})
		defer c.Close() //nolint:errcheck // nothing is lost
		return c.Ping(ctx).Err() == nil
	}
	err = testserver.Launch(s)
	return "redis://" + s.Addr() + "/0", s.Kill, err
}

// servers are the servers that run, and a client that asks Redis.
type servers struct {
	urls   map[store]string
	java   bool
	client *redis.Client // nil without Redis
	stops  []func()
}

// startServers starts the servers that the scenarios need. What a missing program leaves out
// is said once; it is an error if that is everything.
func startServers(ctx context.Context, cfg *config, scenarios []*scenario, progress io.Writer) (_ *servers, err error) {
	s := &servers{urls: make(map[store]string)}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	tried, serve := make(map[store]bool), false
	for _, one := range scenarios {
		if !tried[one.store] {
			tried[one.store] = true
			if err := s.start(ctx, cfg, one.store); errors.Is(err, testserver.ErrMissing) {
				_, _ = fmt.Fprintf(progress, "%s is left out: %v\n", one.group(), err)
			} else if err != nil {
				return nil, err
			}
		}
		if one.java() && !s.java {
			if _, err := javaProject(); errors.Is(err, testserver.ErrMissing) {
				_, _ = fmt.Fprintf(progress, "%s is left out: %v\n", one.id, err)
			} else if err != nil {
				return nil, err
			} else {
				s.java = true
			}
		}
		serve = serve || s.serve(one)
	}
	if !serve {
		return nil, errors.New("no scenario can be measured")
	}
	return s, nil
}

func (s *servers) start(ctx context.Context, cfg *config, in store) error {
	url := cfg.redis
	if in != inRedis || url == "" {
		dir, err := os.MkdirTemp("", "peers")
		if err != nil {
			return err
		}
		s.stops = append(s.stops, func() { _ = os.RemoveAll(dir) })
		var kill func()
		if url, kill, err = starters[in](ctx, dir); err != nil {
			return err
		}
		s.stops = append(s.stops, kill)
	}
	if in == inRedis {
		o, err := redis.ParseURL(url)
		if err != nil {
			return err
		}
		s.client = redis.NewClient(o)
		s.stops = append(s.stops, func() { _ = s.client.Close() })
		if err := s.client.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("the server does not answer: %w", err)
		}
	}
	s.urls[in] = url
	return nil
}

func (s *servers) url(in store) string { return s.urls[in] }

// serve reports whether a scenario can be measured.
func (s *servers) serve(one *scenario) bool {
	return s.urls[one.store] != "" && (s.java || !one.java())
}

func (s *servers) stop() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i]()
	}
}

// cpu returns the CPU time that Redis has used, and 0 for a scenario in another store.
func (s *servers) cpu(ctx context.Context, one *scenario) (used time.Duration) {
	if one.store != inRedis {
		return 0
	}
	info := s.client.Info(ctx, "cpu").Val()
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, _ := strconv.ParseFloat(field(info, name), 64)
		used += time.Duration(seconds * float64(time.Second))
	}
	return used
}

// machine returns what a reader needs to judge the figures.
func (s *servers) machine(ctx context.Context) string {
	model := "unknown CPU"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		model = field(string(info), "model name")
	}
	line := fmt.Sprintf("%s, %d CPUs shared with the servers, %s/%s, %s", model, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	if s.client != nil {
		line += ", Redis " + field(s.client.Info(ctx, "server").Val(), "redis_version")
	}
	return line
}

// field returns the value of the first line "name: value".
func field(text, name string) string {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if n, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(n) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
