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
	"github.com/distlock-go/distlock/internal/testmode"
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

	latest string // owner of the latest tokens
	token  int64  // the first of them
}

func newModelled(t *testing.T, s scripts) *modelled {
	t.Helper()
	return &modelled{scripts: scripts{s.server, t}, heard: s.hear()}
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
	minted := "-" // owner of the tokens
	switch {
	case s.Promised:
		pipe.Set(ctx, lockKey, m.name(s.Lock), modelClaim)
	case s.Lock != q.Nobody:
		pipe.Set(ctx, lockKey, m.name(s.Lock), modelTTL)
		minted = m.name(s.Lock)
	}
	fence := fmt.Sprintf("%016d %016d %s %s", 1, 1, minted, m.name(s.Released))
	if s.Tombstones != 0 {
		fence += fmt.Sprintf(" %d", time.Now().UnixMicro())
	}
	for o := q.Owner(1); o <= q.Most; o++ {
		if s.Tombstones.Has(o) {
			fence += " " + m.name(o)
		}
	}
	pipe.Set(ctx, fenceKey, fence, redislock.Retention)
	for i, o := range s.Queue.List() {
		pipe.ZAdd(ctx, queueKey, redis.Z{Score: float64(i), Member: m.entry(o)})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		m.t.Fatal(err)
	}
	m.latest, m.token = minted, 1
}

// reset sets the server to its unused state.
func (m *modelled) reset() {
	m.t.Helper()
	if err := m.Del(m.t.Context(), lockKey, fenceKey, queueKey).Err(); err != nil {
		m.t.Fatal(err)
	}
	m.latest, m.token = "", 0
}

// run applies a step to the server, and compares the reply.
func (m *modelled) run(s q.Step) error {
	m.t.Helper()
	owner, ctx := m.name(s.Call.Owner), m.t.Context()
	op := redislock.ScriptOp{Key: lockKey, Owner: owner, TTL: modelTTL, Tokens: 3, InDoubt: s.Call.InDoubt}
	var lines []string
	var err error
	switch s.Call.Op {
	case q.Try:
		op.Mode = "try"
		lines, err = redislock.RunAcquire(ctx, m.Client, owner[:1], modelClaim, "in:", op)
	case q.Acquire:
		op.Mode = "enqueue"
		lines, err = redislock.RunAcquire(ctx, m.Client, owner[:1], modelClaim, "in:", op)
	case q.Release:
		lines, err = redislock.RunRelease(ctx, m.Client, owner[:1], modelClaim, "in:", op)
	case q.Expire:
		return m.Del(ctx, lockKey).Err()
	case q.End:
		return m.Del(ctx, queueKey).Err()
	default:
		return nil
	}

	if answer, _, _ := strings.Cut(lines[0], " "); answer != string(s.Reply.Answer) {
		return errors.Join(fmt.Errorf("the script answered %q instead of %q", lines[0], s.Reply.Answer), err)
	}
	if s.Call.Op != q.Release && s.Reply.Answer == q.Granted {
		if err := m.granted(owner, lines[0], s.After.Queue); err != nil {
			return err
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

// granted checks what the model leaves out: tokens, and whether others wait.
func (m *modelled) granted(owner, line string, waiting q.Queue) error {
	var first, last, others int64
	if _, err := fmt.Sscanf(line, "1 %d %d %d", &first, &last, &others); err != nil {
		return fmt.Errorf("%q: %w", line, err)
	}
	switch {
	case owner == m.latest && first != m.token:
		return fmt.Errorf("a repeat got the token %d instead of %d", first, m.token)
	case owner != m.latest && first <= m.token:
		return fmt.Errorf("token %d after %d", first, m.token)
	case (others == 1) != (len(waiting.List()) > 0):
		return fmt.Errorf("%q, but %v wait", line, waiting.List())
	}
	m.latest, m.token = owner, first
	return nil
}

// read returns the state of the server in terms of the model.
func (m *modelled) read() (q.Server, error) {
	m.t.Helper()
	ctx := m.t.Context()
	pipe := m.Pipeline()
	lock, left := pipe.Get(ctx, lockKey), pipe.PTTL(ctx, lockKey)
	queue, fence := pipe.ZRange(ctx, queueKey, 0, -1), pipe.Get(ctx, fenceKey)
	_, _ = pipe.Exec(ctx) // each command has its own error, also for a missing key

	var s q.Server
	owners := map[string]q.Owner{}
	for o := q.Owner(1); o <= q.Most; o++ {
		owners[m.name(o)] = o
		owners[m.entry(o)] = o
	}
	if lock.Err() == nil {
		if s.Lock = owners[lock.Val()]; s.Lock == q.Nobody {
			return s, fmt.Errorf("%q has the lock, who is over", lock.Val())
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
	// first last holder released us tombstones...; owners of the past count as Nobody.
	fields := strings.Fields(fence.Val())
	if len(fields) >= 4 {
		s.Released = owners[fields[3]]
	}
	if len(fields) > 5 {
		for _, name := range fields[5:] {
			if o := owners[name]; o != q.Nobody {
				s.Tombstones |= 1 << o
			}
		}
	}
	return s, nil
}

// follow takes a step and compares the states after it. A process that is idle after it
// gets a new owner.
func (m *modelled) follow(before q.State, s q.Step) error {
	m.t.Helper()
	if err := m.run(s); err != nil {
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
	atLeast := 790
	if testmode.Full() && !raceDetected() {
		models, atLeast = []q.Model{{Processes: 3, Rules: q.Protocol, Faults: q.CallLate | q.ReplyLost}}, 1500
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
			err := m.run(step)
			if err == nil {
				err = m.compare(step.After)
			}
			if err != nil {
				t.Fatalf("%v when %v from %+v", err, step, from[i])
			}
		}
	})
}

// Long walks through the model, with all that earlier steps leave in the fence.
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
