package main

import (
	"bufio"
	"context"
	"os/exec"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	host "github.com/distlock-go/distlock/lab/bench/internal/machine"
)

// machine describes the machine on which the figures were measured, and the stores.
type machine struct {
	host.Machine
	Redis      string `json:"redis,omitempty"` // like the others, empty if it was not needed
	ZooKeeper  string `json:"zookeeper,omitempty"`
	PostgreSQL string `json:"postgresql,omitempty"`
	Etcd       string `json:"etcd,omitempty"`
	Java       string `json:"java,omitempty"`
}

func (b *bench) machine(ctx context.Context) machine {
	m := machine{Machine: host.Here()}
	if b.client != nil {
		m.Redis = redisVersion(ctx, b.client)
	}
	for _, other := range otherStores {
		if url := b.cfg.url(other.store); url != "" {
			*m.version(other.store) = other.version(ctx, url)
		}
	}
	if slices.ContainsFunc(b.cfg.scenarios(), func(s scenario) bool { return s.java }) {
		m.Java = javaVersion(ctx)
	}
	return m
}

// javaVersion returns the version of the JVM, or "".
func javaVersion(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "java", "--version").Output() // such as "openjdk 17.0.15 2025-04-15"
	if words := strings.Fields(string(out)); err == nil && len(words) > 1 {
		return words[1]
	}
	return ""
}

// version returns the field with the version of a store.
func (m *machine) version(s store) *string {
	switch s {
	case inZooKeeper:
		return &m.ZooKeeper
	case inPostgreSQL:
		return &m.PostgreSQL
	case inEtcd:
		return &m.Etcd
	default:
		return &m.Redis
	}
}

func (m machine) String() string {
	s := m.Model() + ", " + count(float64(m.CPUs)) + " CPUs shared with the server, " + m.OS + ", " + m.Go
	if m.Redis != "" {
		s += ", Redis " + m.Redis
	}
	for _, other := range otherStores {
		if version := *m.version(other.store); version != "" {
			s += ", " + string(other.store) + " " + version
		}
	}
	if m.Java != "" {
		s += ", Java " + m.Java
	}
	return s
}

func redisVersion(ctx context.Context, c *redis.Client) string {
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return ""
	}
	return host.Field(bufio.NewScanner(strings.NewReader(info)), "redis_version")
}
