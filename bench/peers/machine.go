package main

import (
	"bufio"
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/redis/go-redis/v9"
)

// machine is where the figures come from, and for which they hold.
type machine struct {
	CPU   string `json:"cpu"`
	CPUs  int    `json:"cpus"`
	OS    string `json:"os"`
	Go    string `json:"go"`
	Redis string `json:"redis"`
}

func newMachine(ctx context.Context, c *redis.Client) machine {
	return machine{
		CPU: cpuModel(), CPUs: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Redis: redisVersion(ctx, c),
	}
}

func (m machine) String() string {
	cpu := m.CPU
	if cpu == "" {
		cpu = "unknown CPU"
	}
	return cpu + ", " + count(float64(m.CPUs)) + " CPUs shared with the server, " + m.OS + ", " + m.Go + ", Redis " + m.Redis
}

// cpuModel is what Linux says, and elsewhere nothing.
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
