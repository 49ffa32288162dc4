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
type endless struct{ scans int }

func (*endless) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*endless) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *endless) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		s.scans++
		cmd.(*redis.ScanCmd).SetVal([]string{"c", "x", "b", "a"}, 1)
		return nil
	}
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
		client, server, work := redis.NewClient(&redis.Options{}), new(endless), background.New()
		client.AddHook(server)
		list := rediskit.Inspection{Limit: 2, Read: read, Client: client, Server: rediskit.NewServer("pkg", client, work, time.Minute)}
		exactly, _ := read(before)
		found, err := list.List(t.Context(), exactly)
		if err != nil || len(found) != 2 || server.scans != scans {
			t.Errorf("%q before: found %+v, %v; scanned %d times", before, found, err, server.scans)
		}
		work.End(time.Minute)
		_ = client.Close()
	}
}
