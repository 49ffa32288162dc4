package main

import (
	"bufio"
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// commandCount returns how many commands the server has executed since its start,
// commands called by scripts included, except the INFO that returns the number.
func commandCount(ctx context.Context, c *redis.Client) (int64, error) {
	info, err := c.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	return countCommands(info), nil
}

// countCommands adds up the calls in the text of INFO. Its lines look like
// "cmdstat_get:calls=21,usec=175,...".
func countCommands(info string) (sum int64) {
	for s := bufio.NewScanner(strings.NewReader(info)); s.Scan(); {
		name, rest, ok := strings.Cut(s.Text(), ":calls=")
		if !ok || name == "cmdstat_info" {
			continue
		}
		calls, _, _ := strings.Cut(rest, ",")
		n, _ := strconv.ParseInt(calls, 10, 64)
		sum += n
	}
	return sum
}
