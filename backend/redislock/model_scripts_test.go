package redislock_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

const (
	// Long, so that keys expire only by a step of the model.
	modelTTL   = time.Hour
	modelClaim = modelTTL / 2

	// modelMost is the largest number of processes.
	modelMost = 4
)

// modelOwner is the owner of a lock or of a place in the queue: the number of a
// process, from 1; nobody is none.
type modelOwner uint8

const nobody modelOwner = 0

// modelKey is the data of one key in Redis.
type modelKey struct {
	lock       modelOwner
	promised   bool                  // the key lives for a claim window, not for a lease
	plain      bool                  // a plain attempt took the lock
	unowned    modelOwner            // an owner that had a tombstone when a plain attempt of it took the lock
	queue      [modelMost]modelOwner // in order, followed by zeros
	tombstones uint8                 // bits of the owners that left with an attempt in flight
}

func (k *modelKey) waiting() []modelOwner {
	if end := slices.Index(k.queue[:], nobody); end >= 0 {
		return k.queue[:end]
	}
	return k.queue[:]
}

// place returns the number of waiters before o, or -1 if o is not in the queue.
func (k *modelKey) place(o modelOwner) int { return slices.Index(k.queue[:], o) }

// knows reports whether o has the lock or a place in its queue.
func (k *modelKey) knows(o modelOwner) bool { return k.lock == o || k.place(o) >= 0 }

// modelOp is a request to the server, or an event at the server.
type modelOp uint8

const (
	opNone    modelOp = iota
	opTry             // acquire.lua
	opEnqueue         // acquire.lua
	opTake            // the first command of a plain attempt
	opLook            // the others
	opRelease         // release.lua
	opExpire          // the lease or the claim window ends
	opEnd             // the queue ends
	opRetract         // of a model that trusts PUBLISH's count: the message had no receiver
)

// modelCall is an operation for an owner.
type modelCall struct {
	op      modelOp
	owner   modelOwner
	inDoubt bool
}

// modelReply is what a script returns and sends.
type modelReply struct {
	answer string     // the first word
	told   modelOwner // the receiver of a message
}

// modelled is a server that runs the scripts for the model. The owner that stands for
// process 2 is "b1"; its inbox is "b".
type modelled struct {
	scripts
	lua   redislock.Scripts
	heard func() []string

	results map[modelQuestion]modelResult // of do
}

type modelQuestion struct {
	key  modelKey
	call modelCall
}

type modelResult struct {
	key   modelKey
	reply modelReply
}

func newModelled(s scripts, lua redislock.Scripts) *modelled {
	return &modelled{scripts: s, lua: lua, heard: s.hearFor(modelClaim), results: make(map[modelQuestion]modelResult)}
}

// do returns what a call does. It asks the scripts once for each call in each state.
func (m *modelled) do(key modelKey, c modelCall) (modelKey, modelReply) {
	m.t.Helper()
	at := modelQuestion{key, c}
	if r, known := m.results[at]; known {
		return r.key, r.reply
	}
	m.put(key)
	reply := m.run(c)
	after, err := m.read()
	if err != nil {
		m.t.Fatalf("%v after %+v from %+v\n%s", err, c, key, m.dump(m.t))
	}
	m.results[at] = modelResult{after, reply}
	return after, reply
}

func (m *modelled) name(o modelOwner) string { return string([]byte{'a' + byte(o) - 1, '1'}) }

func (m *modelled) entry(o modelOwner) string { return m.name(o)[:1] + ":" + m.name(o) }

// put sets the server to a state.
func (m *modelled) put(k modelKey) {
	m.t.Helper()
	ctx := m.t.Context()
	pipe := m.TxPipeline()
	pipe.Del(ctx, lockKey, queueKey, goneKey)
	pipe.Set(ctx, redislock.ClockKey, token(1e15), 0) // without a leading zero, for INCRBY
	if k.lock != nobody {
		ttl := modelTTL
		if k.promised {
			ttl = modelClaim
		}
		pipe.Set(ctx, lockKey, m.value(k.lock, k.plain), ttl)
	}
	if k.unowned != nobody {
		pipe.Set(ctx, lockKey, m.value(k.unowned, true), modelTTL)
	}
	for o := modelOwner(1); o <= modelMost; o++ {
		if k.tombstones&(1<<o) != 0 {
			pipe.ZAdd(ctx, goneKey, redis.Z{Score: float64(time.Now().UnixMicro()), Member: m.name(o)})
		}
	}
	for i, o := range k.waiting() {
		pipe.ZAdd(ctx, queueKey, redis.Z{Score: float64(i), Member: m.entry(o)})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		m.t.Fatal(err)
	}
}

// value returns the value of a lock.
func (m *modelled) value(o modelOwner, plain bool) string {
	if plain {
		return m.name(o) + " ~" + token(1)
	}
	return m.name(o) + " " + token(1)
}

// token is a token as the scripts write it.
func token(n int64) string { return fmt.Sprintf("%016d", n) }

// run makes a call. It checks what the model leaves out: the tokens of a grant.
func (m *modelled) run(c modelCall) modelReply {
	m.t.Helper()
	ctx, script, mode := m.t.Context(), m.lua.Acquire, "enqueue"
	op := redislock.ScriptOp{Key: lockKey, TTL: modelTTL, InDoubt: c.inDoubt}
	switch c.op {
	case opExpire:
		m.Del(ctx, lockKey)
		return modelReply{}
	case opEnd:
		m.Del(ctx, queueKey)
		return modelReply{}
	case opNone:
		return modelReply{}
	case opTake:
		return modelReply{answer: flag(m.SetNX(ctx, lockKey, m.value(c.owner, true), modelTTL).Val())}
	case opLook:
		if issued := m.last(); m.IncrBy(ctx, redislock.ClockKey, 1).Val() <= issued {
			m.t.Errorf("the clock is not above %d", issued)
		}
		k, err := m.read() // and not EXISTS: earlier owners may have left tombstones
		return modelReply{answer: flag(err == nil && k.place(nobody) == 0 && k.tombstones == 0)}
	case opRetract: // then it is as if a stranger released
		m.Del(ctx, lockKey)
		script, op.Owner = m.lua.Release, "z1"
	case opRelease:
		script, op.Owner = m.lua.Release, m.name(c.owner)
	case opTry:
		mode = "try"
		fallthrough
	default:
		op.Owner, op.Mode = m.name(c.owner), mode
	}
	held, issued := m.Get(ctx, lockKey).Val(), m.last()
	lines, err := m.runFor(modelClaim, func(redislock.Scripts) *luaScript { return script }, op)
	if lines == nil {
		m.t.Fatal(err)
	}
	answer, _, _ := strings.Cut(lines[0], " ")
	if answer == "1" && script == m.lua.Acquire {
		first, last := grant(m.t, lines[0])
		if repeated := strings.HasPrefix(held, op.Owner+" ") && !strings.Contains(held, "~"); repeated && held != op.Owner+" "+token(last) || !repeated && first <= issued {
			m.t.Errorf("%q after the token %d, and %q had the lock", lines[0], issued, held)
		}
		if wait := m.Exists(ctx, queueKey).Val(); !strings.HasSuffix(lines[0], fmt.Sprint(" ", wait)) {
			m.t.Errorf("%q, but %d wait", lines[0], wait)
		}
	}
	reply := modelReply{answer: answer}
	messages := m.heard()
	for o := modelOwner(1); o <= modelMost; o++ {
		if slices.Contains(messages, "in:"+m.name(o)[:1]+" "+m.name(o)) {
			reply.told = o
		}
	}
	if len(messages) > 1 || len(messages) == 1 && reply.told == nobody {
		m.t.Errorf("the messages are %q", messages)
	}
	return reply
}

// read returns the state of the server.
func (m *modelled) read() (k modelKey, err error) {
	m.t.Helper()
	ctx := m.t.Context()
	pipe := m.Pipeline()
	lock, left := pipe.Get(ctx, lockKey), pipe.PTTL(ctx, lockKey)
	queue, gone := pipe.ZRange(ctx, queueKey, 0, -1), pipe.ZRange(ctx, goneKey, 0, -1)
	_, _ = pipe.Exec(ctx) // each command has its own error, also for a missing key

	owners := map[string]modelOwner{}
	for o := modelOwner(1); o <= modelMost; o++ {
		owners[m.name(o)] = o
		owners[m.entry(o)] = o
	}
	if lock.Err() == nil {
		owner, token, _ := strings.Cut(lock.Val(), " ")
		k.lock, k.promised, k.plain = owners[owner], left.Val() <= modelClaim, strings.HasPrefix(token, "~")
		if k.lock == nobody || left.Val() <= 0 || left.Val() > modelTTL {
			return k, fmt.Errorf("%q has the lock for %v", lock.Val(), left.Val())
		}
	}
	for i, entry := range queue.Val() {
		if i == len(k.queue) || owners[entry] == nobody {
			return k, fmt.Errorf("the queue is %q", queue.Val())
		}
		k.queue[i] = owners[entry]
	}
	for _, name := range gone.Val() {
		if o := owners[name]; o != nobody { // not one of the past
			k.tombstones |= 1 << o
		}
	}
	if k.plain && k.tombstones&(1<<k.lock) != 0 {
		k.unowned, k.lock, k.plain, k.promised = k.lock, nobody, false, false
	}
	return k, nil
}

func flag(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}
