package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	testserver "github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/mototest"
	"github.com/distlock-go/distlock/internal/test/natstest"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// store is where the locks of a scenario are.
type store int

const (
	inRedis store = iota
	inZooKeeper
	inPostgreSQL
	inEtcd
	inNATS
	inDynamoDB
	inS3
	inKubernetes
)

// starters start a server of each store in a directory, and return its URL.
var starters = map[store]func(dir string) (url string, kill func(), err error){
	inRedis: func(dir string) (string, func(), error) {
		s, err := redistest.Launch(dir, "--maxclients", "4000")
		return "redis://" + s.Addr() + "/0", s.Kill, err
	},
	inZooKeeper: func(dir string) (string, func(), error) {
		s, err := zktest.Launch(dir, zktest.Config{Settings: []string{"tickTime=2000"}, Properties: withoutWorkers})
		return "zk://" + s.Addr(), s.Kill, err
	},
	inPostgreSQL: func(dir string) (string, func(), error) {
		s, err := sqltest.Postgres.Launch(dir, "-c", "fsync=on", "-c", "shared_buffers=128MB")
		return s.URL("postgres"), s.Kill, err
	},
	inEtcd: func(dir string) (string, func(), error) {
		s, err := etcdtest.Launch(dir)
		return "etcd://" + s.Addr(), s.Kill, err
	},
	inNATS: func(dir string) (string, func(), error) {
		s, err := natstest.Launch(dir)
		return "nats://" + s.Addr(), s.Kill, err
	},
	inDynamoDB: startMoto("dynamodb"),
	inS3:       startMoto("s3"),
	inKubernetes: func(string) (string, func(), error) {
		return "", nil, testserver.Missing("needs the tag", errors.New("go run -tags kube ./lab/bench/peers"))
	},
}

// startMoto starts an emulator of AWS.
func startMoto(service string) func(string) (string, func(), error) {
	return func(string) (string, func(), error) {
		s, err := mototest.Launch()
		if err != nil {
			return "", nil, err
		}
		// The backend has its credentials from the environment, as with any URL of AWS.
		return service + "://us-east-1/locks?endpoint=http://" + s.Addr(), s.Kill, errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", "x"), os.Setenv("AWS_SECRET_ACCESS_KEY", "x"))
	}
}

// withoutWorkers lets ZooKeeper's threads for connections and for commits do their work
// themselves. With its pools of workers a request passes through more threads than there are
// processors, and the same lock is twice as slow in one second as in the next.
var withoutWorkers = []string{"zookeeper.nio.numWorkerThreads=0", "zookeeper.commitProcessor.numWorkerThreads=0"}

// servers are the servers that run, and a client that asks Redis.
type servers struct {
	urls   map[store]string
	client *redis.Client // nil without Redis
	stops  []func()
}

// need starts the server of a scenario, unless it runs. The error is from
// package child if a program of the scenario is not installed.
func (s *servers) need(one *scenario) error {
	if slices.Contains(one.field, redisson) {
		if _, err := javaProject(); err != nil {
			return err
		}
	}
	if s.urls[one.store] != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	s.stops = append(s.stops, func() { _ = os.RemoveAll(dir) })
	url, kill, err := starters[one.store](dir)
	if err != nil {
		return err
	}
	s.stops = append(s.stops, kill)
	s.urls[one.store] = url
	if one.store == inRedis {
		s.client, err = newClient(task{URL: url})
	}
	return err
}

func (s *servers) stop() {
	for _, stop := range slices.Backward(s.stops) {
		stop()
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
	for line := range strings.Lines(text) {
		if n, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(n) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
