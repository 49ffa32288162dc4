package spec

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/internal/test/redistest"
)

// forScripts are histories to replay on the scripts: half of them have a failover. They are made
// once.
var forScripts []History

func madeForScripts(t *testing.T) []History {
	t.Helper()
	if forScripts == nil {
		forScripts = append(Random{Seed: 28}.Histories(t, 250), Random{Seed: 28, Failovers: 1}.Histories(t, 250)...)
	}
	return forScripts
}

// virtually runs f with a simulated server in virtual time.
func virtually(t *testing.T, f func(t *testing.T, s *redisStore)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, newRedisStore(t, redistest.VirtualClient(t, redistest.Virtual(t)), 0, time.Sleep))
	})
}

// TestScriptsFollowRecorded replays recorded histories on the scripts of redislock: they decide
// as the specification does.
func TestScriptsFollowRecorded(t *testing.T) {
	all := recorded(t)
	virtually(t, func(t *testing.T, s *redisStore) {
		s.plain = true
		walkAll(t, s, all, s.seen, 16)
	})
}

// TestScriptsFollow replays random histories.
func TestScriptsFollow(t *testing.T) {
	all := madeForScripts(t)
	t.Run("simulated", func(t *testing.T) {
		virtually(t, func(t *testing.T, s *redisStore) { walkAll(t, s, all, s.seen, 28) })
	})
	t.Run("simulated, plain commands first", func(t *testing.T) {
		virtually(t, func(t *testing.T, s *redisStore) {
			s.plain = true
			walkAll(t, s, all, s.seen, 29)
		})
	})
	t.Run("real", func(t *testing.T) {
		clock := redistest.NewClock(t)
		client := clock.Start(t).Client(t)
		clock.Stop(t)
		passed := time.Duration(0)
		// A real server ends a key one millisecond after the time that it was given.
		s := newRedisStore(t, client, time.Millisecond, func(d time.Duration) {
			passed += d
			clock.Set(t, passed)
		})
		walkAll(t, s, all, s.seen, 28)
	})
}

// TestScriptsWithAFault replays histories on scripts with a fault in their text, and sees the
// difference.
func TestScriptsWithAFault(t *testing.T) {
	all := madeForScripts(t)
	for name, edit := range map[string][2]string{
		"the head of the queue gets no help":         {"messages, kind, own = grant_next(lock, queue, kind, nil, entry)", "own = nil"},
		"a release does not pass on":                 {"if kind ~= 'x' then\nlocal ok, messages", "if kind ~= 'x' and not mine then\nlocal ok, messages"},
		"a late release does not pass on":            {"if kind ~= 'x' then\nlocal ok, messages", "if kind ~= 'x' and mine then\nlocal ok, messages"},
		"a release deletes any lock":                 {"mine = value and holds(value, owner)", "mine = value"},
		"a claim does not extend":                    {"redis.call('PEXPIRE', lock, ttl)\nend\nif taken", "end\nif taken"},
		"an owner that has released is not refused":  {"if refused and not mine then", "if false then"},
		"a lock past the queue is not given back":    {"if waiting == 0 or not taken(value) then", "if true then"},
		"a lock that nobody has stays":               {"if owner and tombstoned(gone, owner) then", "if false then"},
		"a release does not leave the queue":         {"local left = redis.pcall('ZREM', queue, entry_of(owner, share))", "local left"},
		"a repeated request goes to the end":         {"'ZADD', queue, 'NX', ", "'ZADD', queue, "},
		"a newcomer takes a free lock":               {"(not first or first == entry) and admits", "admits"},
		"an owner does not know its lock":            {"if kind == 'x' and share == '' and holds(value, owner) then", "if false then"},
		"a renewal creates a lock":                   {"elseif not value or not holds(value, owner) then\n", "elseif not value then\nredis.call('SET', lock, owner .. ' 1', 'PX', ttl)\nreturn '1'\nelseif not holds(value, owner) then\n"},
		"a release writes no tombstone":              {"pcall(add_tombstone, gone, owner)", ""},
		"the fast part does not look for tombstones": {"call('EXISTS', KEYS[n + i], KEYS[2 * n + i]) == 0", "call('EXISTS', KEYS[n + i]) == 0"},
		"a claim window of a lease":                  {"local claim = ARGV[2]", "local claim = ARGV[2] * 2"},
		"an issued token is not noted":               {"redis.call('SET', KEYS[#KEYS], token)\nreturn token", "return token"},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T, s *redisStore) {
				edited := false
				s.edit = func(source string) string {
					edited = edited || strings.Contains(source, edit[0])
					return strings.Replace(source, edit[0], edit[1], 1)
				}
				s.plain = true
				for i, h := range all {
					if _, err := walk(s, h); err != nil {
						t.Logf("history %d, %v", i+1, err)
						return
					}
				}
				t.Errorf("%d histories do not show it; a script has the text: %v", len(all), edited)
			})
		})
	}
}
