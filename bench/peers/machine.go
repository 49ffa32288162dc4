package main

import (
	"bufio"
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/redis/go-redis/v9"
)

// machine describes the machine on which the figures were measured.
type machine struct {
	CPU        string `json:"cpu"`
	CPUs       int    `json:"cpus"`
	OS         string `json:"os"`
	Go         string `json:"go"`
	Redis      string `json:"redis,omitempty"` // like the others, empty if it was not needed
	ZooKeeper  string `json:"zookeeper,omitempty"`
	PostgreSQL string `json:"postgresql,omitempty"`
	Etcd       string `json:"etcd,omitempty"`
}

func (b *bench) machine(ctx context.Context) machine {
	m := machine{
		CPU: cpuModel(), CPUs: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
	if b.client != nil {
		m.Redis = redisVersion(ctx, b.client)
	}
	for _, other := range otherStores {
		if url := b.cfg.url(other.store); url != "" {
			*m.version(other.store) = other.version(ctx, url)
		}
	}
	return m
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
	cpu := m.CPU
	if cpu == "" {
		cpu = "unknown CPU"
	}
	s := cpu + ", " + count(float64(m.CPUs)) + " CPUs shared with the server, " + m.OS + ", " + m.Go
	if m.Redis != "" {
		s += ", Redis " + m.Redis
	}
	for _, other := range otherStores {
		if version := *m.version(other.store); version != "" {
			s += ", " + string(other.store) + " " + version
		}
	}
	return s
}

// cpuModel returns the model on Linux, and otherwise nothing.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	return field(bufio.NewScanner(f), "model name")
}

func redisVersion(ctx context.Context, c *redis.Client) string {
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return ""
	}
	return field(bufio.NewScanner(strings.NewReader(info)), "redis_version")
}

// field returns the value of the first line with that name.
func field(lines *bufio.Scanner, name string) string {
	for lines.Scan() {
		if n, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(n) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
