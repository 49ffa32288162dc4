package rediskit_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
)

// endless answers each SCAN with some keys, and says that there are more.
type endless struct {
	redis.UniversalClient
	scans int
}

func (s *endless) ScanType(context.Context, uint64, string, int64, string) *redis.ScanCmd {
	s.scans++
	return redis.NewScanCmdResult([]string{"c", "x", "b", "a"}, 1, nil)
}

// A list that is full is the end: no more is asked, and no more is listed.
func TestInspectionEndsWhenItIsFull(t *testing.T) {
	t.Parallel()
	read := func(names []string) (infos []driver.KeyInfo, _ error) {
		for _, name := range names {
			infos = append(infos, driver.KeyInfo{Key: name})
		}
		return infos, nil
	}
	for scans, before := range [][]string{{"x", "y"}, {"x"}} {
		client := new(endless)
		list := rediskit.Inspection{Limit: 2, Read: read, Client: client, Server: rediskit.NewServer("pkg", client, background.New(), time.Minute)}
		exactly, _ := read(before)
		found, err := list.List(t.Context(), exactly)
		if err != nil || len(found) != 2 || client.scans != scans {
			t.Errorf("%q before: found %+v, %v; scanned %d times", before, found, err, client.scans)
		}
	}
}
