package redislock_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The model of the queue for one exclusive key is small enough to explore all of its
// states. A change of the protocol is checked with it before it is measured or tested
// under load.
//
// What the server does comes from the scripts themselves: each is run once for each
// request in each state of the key. A modelProcess is what a caller of the Backend
// knows, and its requests and messages in flight. A step is an event: a process
// acquires, polls, claims, abandons or releases; a plain attempt takes the lock, and
// then looks for others; a lease, a claim window or the queue ends; a message arrives
// or is lost; a reply is lost and the call repeated; a request arrives late; a process
// crashes.
//
// Only the number of processes is bounded: each acquires again and again, and an
// exploration ends because there are no further states. A process starts again with a
// new owner, and only when its last owner has nothing in flight or at the server. Each
// owner has at most one late attempt and one late release.
//
// Time is not modelled: a lease can end at any moment, with one exception. The lease of
// a process that trusts it does not end, because the deadline of the process comes
// first. Nor are tokens, the extension of leases, renewals, shared locks, forced
// releases and the loss of data. The scripts follow histories with times, tokens,
// renewals and failovers in lab/spec.

// luaScript is a script.
type luaScript = luascript.Script

// onTime has all faults in which a call does not overtake another.
const onTime = faultAny &^ (faultCallLate | faultCallLost)

// told are the rules for waiters that do not poll. Messages are enough as long as only
// replies are lost. With a late call they are not: it may take the lock for a process
// that was told before that the lock is held.
var told = modelRules{noPolls: true}

// TestModel checks that the protocol keeps its promises in every reachable state.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name   string
		model  model
		states int  // at least
		long   bool // and not under the race detector
	}{
		{"two/anything", model{2, modelRules{}, faultAny}, 57_000, false},
		{"three/on time", model{3, modelRules{}, onTime}, 130_000, true},
		{"three/anything", model{3, modelRules{}, faultAny}, 1_400_000, true},
		{"three/messages are enough", model{3, told, faultReplyLost}, 42_000, true},
		{"four/messages are enough", model{4, told, faultReplyLost}, 1_700_000, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && testkit.Race {
				t.Skip("takes minutes under the race detector")
			}
			if c.long {
				testmode.Long(t)
			}
			eachScripts(t, func(t *testing.T, s scripts) {
				if c.long && (s.mini != nil || s.slow || s.several) {
					return // the scripts do the same, see the first case
				}
				g := explore(c.model, newModelled(s, s.both()).do)
				if g.what != "" {
					t.Fatalf("%s:\n\t%s", g.what, g.trace)
				}
				t.Logf("%d states", len(g.states))
				if len(g.states) < c.states {
					t.Errorf("%d states are fewer than %d: something does not happen any more", len(g.states), c.states)
				}
				if c.model.faults == faultAny && len(g.taken) != 29 {
					t.Errorf("took %d kinds of steps: %q", len(g.taken), slices.Sorted(maps.Keys(g.taken)))
				}
			})
		})
	}
}

// both returns the scripts of the variant.
func (s scripts) both() redislock.Scripts {
	if s.slow {
		return redislock.SlowScripts
	}
	return redislock.FastScripts
}

// TestModelFinds leaves out one rule at a time, and checks that the exploration finds
// the violation. A rule of a script is left out by a change of its text. Rules whose
// absence one request shows are in lab/spec/scripts_test.go.
func TestModelFinds(t *testing.T) {
	acquire := func(old, with string) redislock.Scripts {
		return redislock.Scripts{Acquire: changed(redislock.SlowScripts.Acquire, old, with), Release: redislock.SlowScripts.Release}
	}
	release := func(edits ...string) redislock.Scripts {
		return redislock.Scripts{Acquire: redislock.SlowScripts.Acquire, Release: changed(redislock.SlowScripts.Release, edits...)}
	}
	const free = "if kind ~= 'x' then\nlocal ok, messages"
	for _, c := range []struct {
		name      string
		without   modelRules
		scripts   redislock.Scripts
		processes int
		faults    modelFault
		want      string
	}{
		// Without these a waiter waits without end.
		{"no polling", told, redislock.SlowScripts, 2, faultAny, neverServed},
		// These spare waiters the polling.
		{"a release does not pass on", told, release(free, "if kind ~= 'x' and not mine then\nlocal ok, messages"), 2, faultReplyLost, neverServed},
		{"a late release does not pass on", told, release(free, "if kind ~= 'x' and mine then\nlocal ok, messages"), 2, faultReplyLost, neverServed},
		{
			"a grant that was never claimed is not passed on", told, release(
				"local mine = false", "local mine, unclaimed = false, redis.call('PTTL', lock) <= tonumber(ARGV[2])",
				free, "if kind ~= 'x' and not (mine and unclaimed) then\nlocal ok, messages"), 2, faultReplyLost, neverServed,
		},

		// Without these there are two holders.
		{"the deadline counts from the reply", modelRules{trustsReply: true}, redislock.SlowScripts, 2, faultAny, twoHolders},

		// Without these data remains.
		{"a release does not report attempts in flight", modelRules{hidesDoubt: true}, redislock.SlowScripts, 2, faultAny, leftBehind},
		{"an owner in doubt takes the lock with plain commands", modelRules{takesInDoubt: true}, redislock.SlowScripts, 2, faultAny, twoHolders},
		{"a lock that was taken past the queue is not given back", modelRules{}, acquire("if waiting == 0 or not taken(value) then", "if true then"), 2, faultAny, queueJumped},
		{"a lock that nobody has stays", modelRules{}, acquire("if owner and tombstoned(gone, owner) then", "if false then"), 2, faultAny, keptFromFree},
		{"a release of what was taken does not leave the queue", modelRules{}, release("if not mine or value and taken(value) then", "if not mine then"), 2, faultAny, leftBehind},

		// Without these the order changes.
		{"a lock is taken back if its message had no receiver", modelRules{takesUnheard: true}, redislock.SlowScripts, 2, faultAny, placeLost},

		// A repeated attempt: the first reply was lost.
		{"an owner does not know its lock", modelRules{}, acquire("if kind == 'x' and share == '' and holds(value, owner) then", "if false then"), 1, faultAny, behindItself},
	} {
		testkit.InBubble(t, c.name, func(t *testing.T) {
			m := redistest.Virtual(t)
			s := scripts{Client: redistest.VirtualClient(t, m), mini: m, t: t}
			g := explore(model{c.processes, c.without, c.faults}, newModelled(s, c.scripts).do)
			t.Logf("%s:\n\t%s", g.what, g.trace)
			if g.what != c.want {
				t.Errorf("found that %q, instead of that %q", g.what, c.want)
			}
		})
	}
}

// changed returns a script with parts of its text replaced: pairs of the old and the
// new.
func changed(s *luaScript, edits ...string) *luaScript {
	text := s.Source()
	for edit := range slices.Chunk(edits, 2) {
		if strings.Count(text, edit[0]) != 1 {
			panic(s.Name + " does not have " + edit[0] + " once")
		}
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	return luascript.Load(fstest.MapFS{s.Name: {Data: []byte(text)}}, s.Name, nil)
}
