package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// redisLimit is the default operation timeout of redislock.
const redisLimit = time.Second

// redisServer reads the values of a Redis server.
type redisServer struct {
	client   *redis.Client
	info     map[string]string // of INFO; empty if the user may not run it
	infoErr  error
	settings map[string]string // of CONFIG GET
	getErr   error             // of the first setting that was refused
}

// The settings that INFO does not show.
var redisSettings = []string{"appendfsync", "min-replicas-to-write", "timeout", "tcp-keepalive", "cluster-require-full-coverage", "save"}

func examineRedis(ctx context.Context, client *redis.Client, prefix string) ([]Finding, error) {
	first, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := client.Ping(first).Err(); err != nil && !answers(err) {
		return nil, err
	}
	s := &redisServer{client: client, settings: make(map[string]string)}
	text, err := client.Info(ctx).Result()
	s.info, s.infoErr = parseInfo(text), err
	for _, name := range redisSettings {
		values, err := client.ConfigGet(ctx, name).Result()
		if err != nil {
			s.getErr = errors.Join(s.getErr, err)
			break
		}
		if v, has := values[name]; has {
			s.settings[name] = v
		}
	}

	findings := s.server()
	if s.info["redis_mode"] == "sentinel" {
		return findings, nil
	}
	findings = append(findings, s.durability()...)
	findings = append(findings, s.sentinels(ctx)...)
	if s.info["cluster_enabled"] == "1" || s.info["redis_mode"] == "cluster" {
		findings = append(findings, s.cluster(ctx)...)
	} else {
		findings = append(findings, s.tokens(ctx)...)
	}
	findings = append(findings, s.access(ctx, prefix)...)
	return append(findings, s.timing(ctx)...), nil
}

// answers reports whether an error is an answer of a server that lets the user in.
func answers(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer) && !redis.HasErrorPrefix(err, "NOAUTH") && !redis.HasErrorPrefix(err, "WRONGPASS")
}

// parseInfo returns the fields in the text of INFO.
func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, isField := strings.Cut(strings.TrimSpace(line), ":"); isField && !strings.HasPrefix(line, "#") {
			fields[name] = value
		}
	}
	return fields
}

// number returns a field of INFO, and whether it is there.
func (s *redisServer) number(name string) (int64, bool) {
	n, err := strconv.ParseInt(s.info[name], 10, 64)
	return n, err == nil
}

// setting returns a setting as a number, and whether it is known.
func (s *redisServer) setting(name string) (int64, bool) {
	n, err := strconv.ParseInt(s.settings[name], 10, 64)
	return n, err == nil
}

func (s *redisServer) server() []Finding {
	if s.infoErr != nil {
		return []Finding{unseen("version", "anything of INFO, such as version, role, memory and eviction policy", s.infoErr)}
	}
	flavour, number := redisFlavour(s.info)
	findings := []Finding{redisVersion(flavour, number), redisRole(s.info["redis_mode"], s.info["role"], s.info["master_host"]+":"+s.info["master_port"])}
	if s.info["redis_mode"] == "sentinel" {
		return findings
	}
	if used, has := s.number("used_memory"); has {
		limit, _ := s.number("maxmemory")
		findings = append(findings, memory(used, limit))
	}
	clients, hasClients := s.number("connected_clients")
	if most, has := s.number("maxclients"); has && hasClients {
		findings = append(findings, connections(int(clients), int(most), "CONFIG SET maxclients, or fewer connections for each program"))
	}
	if d, known := s.setting("timeout"); known {
		findings = append(findings, redisIdle(time.Duration(d)*time.Second))
	} else {
		findings = append(findings, unseen("idle-timeout", "timeout", s.getErr))
	}
	if d, known := s.setting("tcp-keepalive"); known {
		findings = append(findings, keepalive(time.Duration(d)*time.Second))
	} else {
		findings = append(findings, unseen("tcp-keepalive", "tcp-keepalive", s.getErr))
	}
	return findings
}

func (s *redisServer) durability() []Finding {
	if s.infoErr != nil {
		return nil
	}
	var findings []Finding
	if policy := s.info["maxmemory_policy"]; policy != "" {
		limit, _ := s.number("maxmemory")
		findings = append(findings, eviction(policy, limit))
	} else {
		findings = append(findings, unseen("eviction", "maxmemory_policy in INFO", nil))
	}
	if aof, has := s.number("aof_enabled"); has {
		f := persistence(aof == 1, s.settings["appendfsync"], s.settings["save"])
		if s.settings["appendfsync"] == "" && aof == 1 {
			f = unseen("persistence", "appendfsync, and there is an append-only file", s.getErr)
		}
		findings = append(findings, f, diskWrites(s.info["aof_last_write_status"], s.info["rdb_last_bgsave_status"]))
	} else {
		findings = append(findings, unseen("persistence", "aof_enabled in INFO", nil))
	}
	if s.info["role"] != "master" {
		return findings
	}
	n, _ := s.number("connected_slaves")
	replicas := parseReplicas(s.info, int(n))
	switch least, known := s.setting("min-replicas-to-write"); {
	case n == 0 && least == 0, known:
		findings = append(findings, redisReplicas(replicas, int(least)))
	default:
		findings = append(findings, unseen("replicas", fmt.Sprintf("min-replicas-to-write, and there is a replica: %d", n), s.getErr))
	}
	if n > 0 {
		offset, _ := s.number("master_repl_offset")
		findings = append(findings, redisLag(replicas, offset))
	}
	return findings
}

// sentinels looks for the connections of Sentinels.
func (s *redisServer) sentinels(ctx context.Context) []Finding {
	if n, _ := s.number("connected_clients"); n > 5000 {
		return nil // a long list would delay the locks
	}
	list, err := s.client.ClientList(ctx).Result()
	if err != nil {
		return nil
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(list) {
		for field := range strings.FieldsSeq(line) {
			if id, is := strings.CutPrefix(field, "name=sentinel-"); is {
				id, _, _ = strings.Cut(id, "-")
				seen[id] = true
			}
		}
	}
	if len(seen) == 0 {
		return nil
	}
	return []Finding{sentinel(len(seen))}
}

// tokens compares the last token with the clock.
func (s *redisServer) tokens(ctx context.Context) []Finding {
	text, err := s.client.Get(ctx, clockKey).Result()
	now, clockErr := s.client.Time(ctx).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return []Finding{ok("token-clock", "no lock was ever granted")}
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return []Finding{tokenClock("a value of another type", now)}
	case err != nil, clockErr != nil:
		return nil // the user may not read the key or the clock, and the check of the ACL says so
	}
	return []Finding{tokenClock(text, now)}
}

func (s *redisServer) timing(ctx context.Context) []Finding {
	var findings []Finding
	t, err := measure(ctx, 100, func(ctx context.Context) error {
		if err := s.client.Ping(ctx).Err(); err != nil && !answers(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return []Finding{fault("round-trip", oneLine(err), "find out why the server stops answering")}
	}
	findings = append(findings, roundTrip(t, redisLimit))
	r, err := readClock(ctx, 10, func(ctx context.Context) (time.Time, error) { return s.client.Time(ctx).Result() })
	if err == nil {
		findings = append(findings, clock(r))
	} else {
		findings = append(findings, unseen("clock", "the clock", err))
	}
	t, err = s.messages(ctx)
	if err == nil {
		findings = append(findings, wakeUp(t))
	} else {
		findings = append(findings, warning("wake-up", "no message arrives: "+oneLine(err), "see acl-channels, or the network"))
	}
	return findings
}

// inbox is the prefix of the channels of redislock.
const inbox = "distlock:inbox:"

// messages measures how long a message takes from the client to the client.
func (s *redisServer) messages(ctx context.Context) (times, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*redisLimit)
	defer cancel()
	channel := inbox + "doctor-" + uuid.NewString()
	sub := s.client.Subscribe(ctx, channel)
	defer sub.Close() //nolint:errcheck // nothing depends on it
	if _, err := sub.Receive(ctx); err != nil {
		return times{}, err
	}
	return measure(ctx, 20, func(ctx context.Context) error {
		if err := s.client.Publish(ctx, channel, "doctor").Err(); err != nil {
			return err
		}
		_, err := sub.ReceiveMessage(ctx)
		return err
	})
}

// onLoopback reports whether a server is on this machine.
func onLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback() || strings.HasPrefix(host, "/")
}
