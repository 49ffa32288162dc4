package redislock_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
)

// The record is shared with redsync, bsm's redislock and Spring's aspects: they set it
// with SET NX PX, and delete it if the value is theirs. Tokens and names of holders are
// part of our values and make no difference; their values contain none.
func TestInteropOfRecords(t *testing.T) {
	compareAndDelete := redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`)
	eachServer(t, func(t *testing.T, s server) {
		ctx := t.Context()
		b := newBackend(t, s.Client)
		for name, value := range map[string]string{
			"redsync":   "q83vEjRWeJCrze8SNFZ4kA==",
			"redislock": "ytD2xQbLWkSB3TGcJTNvPwmetadata",
			"spring":    uuid.NewString(),
		} {
			mine := request(name)
			mine.Owner += "@web-3/1432"
			g := must(b.TryAcquire(ctx, mine))
			if ok, err := s.SetNX(ctx, name, value, time.Hour).Result(); ok || err != nil {
				t.Errorf("%s takes ours: %v", name, err)
			}
			if n, err := compareAndDelete.Run(ctx, s.Client, []string{name}, value).Int(); n != 0 || err != nil {
				t.Errorf("%s gives ours back: %v", name, err)
			}
			mustRelease(t, b, g)

			if ok, err := s.SetNX(ctx, name, value, time.Hour).Result(); !ok || err != nil {
				t.Errorf("%s does not get what is free: %v", name, err)
			}
			_, err := b.TryAcquire(ctx, request(name))
			matches(t, name, err, driver.ErrNotAcquired)
			if infos := mustInspect(t, b, name); len(infos) != 1 || infos[0].Foreign != "" || infos[0].Held != 1 || infos[0].Holders[0].Holder != "" || infos[0].Holders[0].ExpiresIn <= 0 {
				t.Errorf("%s: listed %+v", name, infos)
			}
			if n, err := compareAndDelete.Run(ctx, s.Client, []string{name}, value).Int(); n != 1 || err != nil {
				t.Errorf("%s cannot give back: %v", name, err)
			}
			mustRelease(t, b, must(b.TryAcquire(ctx, request(name))))
		}
	})
}
