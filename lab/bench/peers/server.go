package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	servers "github.com/distlock-go/distlock/internal/test/child"
)

// serverBinary is looked up in PATH.
const serverBinary = "redis-server"

// startServers starts the servers that the scenarios need and cfg does not name, and
// sets their URLs in cfg. If a server is missing, it prints a note and the scenarios
// without it run; it is an error if none are left.
func startServers(ctx context.Context, cfg *config, progress io.Writer) (stop func(), err error) {
	var stops []func()
	stopAll := func() {
		for _, f := range stops {
			f()
		}
	}
	defer func() {
		if err != nil {
			stopAll()
		}
	}()
	needs := make(map[store]string) // and for which goal
	replicated := false
	if err := prepareJava(cfg, progress); err != nil {
		return nil, err
	}
	for _, s := range cfg.scenarios() {
		if s.replicated {
			replicated = true
		} else {
			needs[s.store] = group(s.id)
		}
	}
	cfg.urls = make(map[store]string)
	missing := func(goal string, err error) error {
		if len(needs) == 0 {
			return fmt.Errorf("%s: %w", goal, err)
		}
		_, _ = fmt.Fprintf(progress, "%s is left out: %v\n", goal, err)
		return nil
	}
	if replicated {
		if _, err := exec.LookPath(serverBinary); err == nil {
			cfg.replicated = true
			needs[inRedis] = "" // it says which version that is
		} else if err := missing("F16", err); err != nil {
			return nil, err
		}
	}
	for _, other := range otherStores {
		goal, ok := needs[other.store]
		if !ok {
			continue
		}
		url, kill, err := other.start(ctx)
		switch {
		case err == nil:
			stops = append(stops, kill)
			cfg.urls[other.store] = url
		case errors.Is(err, servers.ErrMissing):
			delete(needs, other.store)
			if err := missing(goal, err); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("%s: %w", goal, err)
		}
	}
	if _, ok := needs[inRedis]; ok && cfg.redis == "" {
		url, kill, err := startServer(ctx)
		if err != nil {
			return nil, err
		}
		stops = append(stops, kill)
		cfg.redis = url
	}
	return stopAll, nil
}

// prepareJava builds the peers in Java if a scenario needs them. Without Java and Maven
// these scenarios are left out.
func prepareJava(cfg *config, progress io.Writer) error {
	if !slices.ContainsFunc(cfg.scenarios(), func(s scenario) bool { return s.java }) {
		return nil
	}
	_, err := javaProject()
	if !errors.Is(err, servers.ErrMissing) {
		return err
	}
	cfg.noJava = true
	if len(cfg.scenarios()) == 0 {
		return err
	}
	_, _ = fmt.Fprintf(progress, "what needs Java is left out: %v\n", err)
	return nil
}

// startServer starts a Redis without persistence on a free port, with options like
// those of its command line. It returns the URL and a function that stops it.
func startServer(ctx context.Context, options ...string) (url string, stop func(), err error) {
	bin, err := exec.LookPath(serverBinary)
	if err != nil {
		return "", nil, fmt.Errorf("-redis is empty, and there is no %s to start: %w", serverBinary, err)
	}
	command := func(dir string, ports []int) (*exec.Cmd, error) {
		return exec.Command(bin, append([]string{
			"--port", strconv.Itoa(ports[0]), "--bind", "127.0.0.1", "--dir", dir,
			"--save", "", "--appendonly", "no", "--maxclients", "4000",
		}, options...)...), nil
	}
	serves := func(addr string) bool {
		c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		defer c.Close() //nolint:errcheck // nothing is lost
		return c.Ping(ctx).Err() == nil
	}
	addr, stop, err := launch(ctx, bin, command, serves)
	return "redis://" + addr + "/0", stop, err
}
