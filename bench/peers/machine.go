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
	CPU       string `json:"cpu"`
	CPUs      int    `json:"cpus"`
	OS        string `json:"os"`
	Go        string `json:"go"`
	Redis     string `json:"redis,omitempty"`     // empty if it was not needed
	ZooKeeper string `json:"zookeeper,omitempty"` // empty if it was not needed
}

func (b *bench) machine(ctx context.Context) machine {
	m := machine{
		CPU: cpuModel(), CPUs: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
	if b.client != nil {
		m.Redis = redisVersion(ctx, b.client)
	}
	if servers, ok := zooKeeperServers(b.cfg.url(inZooKeeper)); ok {
		m.ZooKeeper = zooKeeperVersion(servers[0])
	}
	return m
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
	if m.ZooKeeper != "" {
		s += ", ZooKeeper " + m.ZooKeeper
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
