package redislock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	q "github.com/distlock-go/distlock/backend/redislock/internal/queuemodel"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The results of package queuemodel apply to the scripts only as long as both do the
// same. These tests compare them.

const (
	// Long, so that keys expire only by a step of the model.
	modelTTL   = time.Hour
	modelClaim = modelTTL / 2
)

// modelled is a server on which scripts follow the model. The owner that stands for
// process 2 is "b1", then "b2"; its inbox is "b".
type modelled struct {
	scripts
	heard func() []string
	lives [q.Most]int // of the processes
}

func newModelled(t *testing.T, s scripts) *modelled {
	t.Helper()
	s.t = t
	return &modelled{scripts: s, heard: s.hearFor(modelClaim)}
}

func (m *modelled) name(o q.Owner) string {
	if o == q.Nobody {
		return "-"
	}
	return fmt.Sprintf("%c%d", 'a'+o-1, m.lives[o-1])
}

func (m *modelled) entry(o q.Owner) string { return m.name(o)[:1] + ":" + m.name(o) }

// put sets the server to a state of the model.
func (m *modelled) put(s q.Server) {
	m.t.Helper()
	pipe := m.TxPipeline()
	ctx := m.t.Context()
	pipe.Del(ctx, lockKey, queueKey)
	pipe.Del(ctx, goneKey)
	pipe.Set(ctx, clockKey, token(1), 0)
	if s.Lock != q.Nobody {
		ttl := modelTTL
		if s.Promised {
			ttl = modelClaim
		}
		pipe.Set(ctx, lockKey, m.name(s.Lock)+" "+token(1), ttl)
	}
	for o := q.Owner(1); o <= q.Most; o++ {
		if s.Tombstones.Has(o) {
			pipe.ZAdd(ctx, goneKey, redis.Z{Score: float64(time.Now().UnixMicro()), Member: m.name(o)})
		}
	}
	for i, o := range s.Queue.List() {
		pipe.ZAdd(ctx, queueKey, redis.Z{Score: float64(i), Member: m.entry(o)})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		m.t.Fatal(err)
	}
}

// token is a token as the scripts write it.
func token(n int64) string { return fmt.Sprintf("%016d", n) }

// reset sets the server to its unused state.
func (m *modelled) reset() {
	m.t.Helper()
	if err := m.Del(m.t.Context(), lockKey, goneKey, queueKey).Err(); err != nil {
		m.t.Fatal(err)
	}
	m.Set(m.t.Context(), clockKey, token(1), 0)
}

// apply applies a step to the server, and compares the reply.
func (m *modelled) apply(s q.Step) error {
	m.t.Helper()
	owner, ctx := m.name(s.Call.Owner), m.t.Context()
	op := redislock.ScriptOp{Key: lockKey, Owner: owner, TTL: modelTTL, InDoubt: s.Call.InDoubt}
	pick := acquires
	switch s.Call.Op {
	case q.Try:
		op.Mode = "try"
	case q.Acquire:
		op.Mode = "enqueue"
	case q.Release:
		pick = releases
	case q.Expire:
		return m.Del(ctx, lockKey).Err()
	case q.End:
		return m.Del(ctx, queueKey).Err()
	default:
		return nil
	}
	held, issued := m.Get(ctx, lockKey).Val(), m.last()
	lines, err := m.runFor(modelClaim, pick, op)
	if lines == nil {
		return err
	}

	if answer, _, _ := strings.Cut(lines[0], " "); answer != string(s.Reply.Answer) {
		return errors.Join(fmt.Errorf("the script answered %q instead of %q", lines[0], s.Reply.Answer), err)
	}
	// The model leaves out tokens.
	if s.Call.Op != q.Release && s.Reply.Answer == q.Granted {
		first, last := grant(m.t, lines[0])
		if repeated := strings.HasPrefix(held, owner+" "); repeated && held != owner+" "+token(last) || !repeated && first <= issued {
			return fmt.Errorf("%q after the token %d, and %q had the lock", lines[0], issued, held)
		}
		if strings.HasSuffix(lines[0], " 1") != (len(s.After.Queue.List()) > 0) {
			return fmt.Errorf("%q, but %v wait", lines[0], s.After.Queue.List())
		}
	}
	var told []string
	if o := s.Reply.Told; o != q.Nobody {
		told = []string{"in:" + m.name(o)[:1] + " " + m.name(o)}
	}
	if got := m.heard(); !slices.Equal(got, told) {
		return fmt.Errorf("the messages are %q instead of %q", got, told)
	}
	return nil
}

// read returns the state of the server in terms of the model.
func (m *modelled) read() (q.Server, error) {
	m.t.Helper()
	ctx := m.t.Context()
	pipe := m.Pipeline()
	lock, left := pipe.Get(ctx, lockKey), pipe.PTTL(ctx, lockKey)
	queue, gone := pipe.ZRange(ctx, queueKey, 0, -1), pipe.ZRange(ctx, goneKey, 0, -1)
	_, _ = pipe.Exec(ctx) // each command has its own error, also for a missing key

	var s q.Server
	owners := map[string]q.Owner{}
	for o := q.Owner(1); o <= q.Most; o++ {
		owners[m.name(o)] = o
		owners[m.entry(o)] = o
	}
	if lock.Err() == nil {
		owner, _, _ := strings.Cut(lock.Val(), " ")
		if s.Lock = owners[owner]; s.Lock == q.Nobody {
			return s, fmt.Errorf("%q has the lock, and has ended", lock.Val())
		}
		s.Promised = left.Val() <= modelClaim
		if left.Val() <= 0 || left.Val() > modelTTL {
			return s, fmt.Errorf("%v is left of a lease", left.Val())
		}
	}
	for i, entry := range queue.Val() {
		if i == len(s.Queue) || owners[entry] == q.Nobody {
			return s, fmt.Errorf("the queue is %q", queue.Val())
		}
		s.Queue[i] = owners[entry]
	}
	for _, name := range gone.Val() {
		if o := owners[name]; o != q.Nobody { // not one of the past
			s.Tombstones |= 1 << o
		}
	}
	return s, nil
}

// follow takes a step and compares the states after it. A process that is idle after it
// gets a new owner.
func (m *modelled) follow(before q.State, s q.Step) error {
	m.t.Helper()
	if err := m.apply(s); err != nil {
		return err
	}
	for i := range before.Processes {
		if s.To.Processes[i].Phase == q.Idle && before.Processes[i].Phase != q.Idle {
			m.lives[i]++
		}
	}
	return m.compare(s.To.Server)
}

func (m *modelled) compare(want q.Server) error {
	m.t.Helper()
	got, err := m.read()
	if err == nil && got != want {
		err = fmt.Errorf("the server is %+v instead of %+v", got, want)
	}
	return err
}

// In every state of the server that the model reaches, every request to the scripts has
// the effect that the model says.
func TestModelSteps(t *testing.T) {
	models := []q.Model{
		{Processes: 2, Rules: q.Protocol, Faults: q.Anything},
		{Processes: 3, Rules: q.Protocol, Faults: q.Anything &^ (q.CallLate | q.CallLost)},
	}
	atLeast := 660
	if testmode.Full() && !raceDetected() {
		models, atLeast = []q.Model{{Processes: 3, Rules: q.Protocol, Faults: q.CallLate | q.ReplyLost}}, 820
	}
	type question struct {
		server q.Server
		call   q.Call
	}
	asked := make(map[question]bool)
	var steps []q.Step
	var from []q.Server
	for _, model := range models {
		_, violation := q.Explore(model, func(before q.State, s q.Step) {
			if at := (question{before.Server, s.Call}); s.Call.Op != q.None && !asked[at] {
				asked[at] = true
				steps, from = append(steps, s), append(from, before.Server)
			}
		})
		if violation != nil {
			t.Fatal(violation)
		}
	}
	if len(steps) < atLeast {
		t.Fatalf("%d steps are fewer than %d", len(steps), atLeast)
	}
	t.Logf("%d steps", len(steps))

	eachScripts(t, func(t *testing.T, s scripts) {
		m := newModelled(t, s)
		for i, step := range steps {
			m.put(from[i])
			err := m.apply(step)
			if err == nil {
				err = m.compare(step.After)
			}
			if err != nil {
				t.Fatalf("%v when %v (%+v) from %+v\n%s", err, step, step.Call, from[i], m.dump(t))
			}
		}
	})
}

// Long walks through the model, with all that earlier steps leave at the server.
func TestModelWalks(t *testing.T) {
	const length = 100
	walks := uint64(20)
	if testmode.Full() {
		walks = 100
	}
	model := q.Model{Processes: 3, Rules: q.Protocol, Faults: q.Anything}
	eachScripts(t, func(t *testing.T, s scripts) {
		m := newModelled(t, s)
		for seed := range walks {
			m.reset()
			rnd := rand.New(rand.NewPCG(seed, seed))
			var state q.State
			var trace []string
			for range length {
				var steps, fair []q.Step
				model.Steps(state, func(st q.Step) {
					steps = append(steps, st)
					if st.Fair {
						fair = append(fair, st)
					}
				})
				if len(fair) > 0 && rnd.IntN(2) == 0 {
					steps = fair // otherwise most processes leave or crash
				}
				step := steps[rnd.IntN(len(steps))]
				trace = append(trace, step.String())
				if err := m.follow(state, step); err != nil {
					t.Fatalf("seed %d: %v after\n\t%s", seed, err, strings.Join(trace, "\n\t"))
				}
				state = step.To
			}
		}
	})
}

func raceDetected() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
