package torture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// world is what a simulation has in its bubble: a simulated Redis, which runs the scripts of
// redislock, and processes with a Locker each.
type world struct {
	tb        testing.TB
	rig       *rig
	server    *miniredis.Miniredis
	admin     *redis.Client
	clock     *serverClock
	replica   replica
	register  *testkit.NetRegister
	gone      goneOwners
	weather   weather // of all processes
	proxy     *gate   // between all processes and the server
	mu        sync.Mutex
	processes []*puppet // the current ones
	all       []*puppet
	living    sync.WaitGroup
}

// puppet is a simulated process.
type puppet struct {
	*kid
	wire    *wire
	text    bytes.Buffer // of its journal
	runs    *gate
	paused  int64 // since when; 0: it is not
	pauses  []window
	gone    []entry    // the leases that it trusted, and that the store did not have
	mu      sync.Mutex // of died and failure
	died    int64
	failure error
}

func newWorld(tb testing.TB, r *rig, weather weather) *world {
	tb.Helper()
	w := &world{
		tb: tb, rig: r, weather: weather, server: redistest.Virtual(tb), register: r.register, clock: newServerClock(), proxy: newGate(),
		processes: make([]*puppet, r.setup.processes),
	}
	if os.Getenv("GOGC") == "off" {
		debug.SetGCPercent(-1) // Virtual has set it; a collection changes the turns of goroutines
	}
	w.admin = redistest.VirtualClient(tb, w.server)
	redistest.SetClock(w.server, w.clock.now)
	w.gone.forget()
	for i := range w.processes {
		w.spawn(i)
	}
	return w
}

// spawn starts a process, or the successor of one that has crashed.
func (w *world) spawn(i int) {
	life := 0
	if p := w.processes[i]; p != nil {
		life = p.Life + 1
	}
	p := &puppet{kid: newKid(), runs: newGate()}
	p.config = w.rig.setup.simulated
	p.Proc, p.Number, p.Life = fmt.Sprintf("%d.%d", i, life), i, life
	weather := w.weather
	weather.proc = p.Proc
	p.wire = newWire(rand.New(rand.NewPCG(w.rig.seed, uint64(1_000_000+i*1000+life))), weather, w.proxy, w.server.Dial)
	p.journal = &journal{gate: p.runs.wait, file: p}
	p.use = func() user { return p.reach(w.register) }
	p.connect = func() (driver.Backend, func(), error) {
		c := redistest.VirtualClient(w.tb, w.server, func(o *redis.Options) { o.Dialer = p.wire.DialContext })
		return noted{redislock.New(c, redislock.Config{}).(ability), &w.gone, p.wire}, func() { _ = c.Close() }, nil
	}
	w.mu.Lock()
	w.processes[i] = p
	w.mu.Unlock()
	w.all = append(w.all, p)
	ctx, end := context.WithCancel(context.Background())
	p.end = end
	w.living.Go(func() {
		defer end()
		err := p.live(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.failure = err
	})
}

// errDead ends the workers of a process that has crashed.
var errDead = errors.New("dead")

// dead reports whether the process has crashed.
func (p *puppet) dead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.died != 0
}

// Write writes to the journal. After a crash, nothing is written.
func (p *puppet) Write(line []byte) (int, error) {
	if p.dead() {
		return len(line), nil
	}
	return p.text.Write(line)
}

// reached is the register as a process reaches it.
type reached struct {
	*testkit.NetRegister
	by *puppet
}

func (p *puppet) reach(r *testkit.NetRegister) user { return reached{r, p} }

func (r reached) Use(u testkit.Use) (bool, error) {
	if r.by.dead() {
		return false, errDead
	}
	return r.NetRegister.Use(u), nil
}

func (reached) Close() {}

// crash ends a process without a word. What it has sent still arrives.
func (w *world) crash(i int) {
	p := w.processes[i]
	p.mu.Lock()
	p.died = now()
	p.mu.Unlock()
	p.wire.kill()
	p.end()
	w.resume(i)
}

// pause stops the workers of a process at their next step, and the network. The timers of the
// Locker go on: a bubble has one clock and one scheduler.
func (w *world) pause(i int) {
	p := w.processes[i]
	p.paused = now()
	p.runs.close()
	p.wire.part()
}

func (w *world) resume(i int) {
	p := w.processes[i]
	if p.paused != 0 {
		p.pauses = append(p.pauses, window{p.paused, now()})
		p.paused = 0
	}
	p.runs.open()
	p.wire.mend()
}

// shortestFailover is the time without a server in a failover that a proxy hides: the new master
// did not get what the old one has answered just before.
const shortestFailover = 50 * time.Millisecond

// replicate and failOver are the begin and the end of what a replica has not received when it
// takes over.
func (w *world) replicate(int) {
	synctest.Wait()
	w.rig.beginLoss()
	w.replica = copyOf(w.server, w.clock.now())
}

func (w *world) failOver(int) {
	if w.weather.proxy { // it keeps the requests, too
		w.proxy.close()
		defer w.proxy.open()
		time.Sleep(shortestFailover)
	}
	synctest.Wait()
	w.server.SetTime(w.clock.now())
	w.replica.takeOver(w.tb, w.server, w.clock.now())
	w.rig.endLoss()
	w.gone.forget()
	if !w.weather.proxy {
		for _, p := range w.processes {
			p.wire.cut()
		}
	}
}

func (w *world) flushScripts() { _ = w.admin.ScriptFlush(w.tb.Context()).Err() }

// rate returns a fault that changes the rate of the server's clock.
func rate(r float64) func(*world, int) {
	return func(w *world, _ int) { w.clock.setRate(r) }
}

// heal ends the faults, and returns when all workers have been served and all processes have
// ended.
func (w *world) heal() {
	for _, p := range w.processes {
		p.wire.heal()
	}
	time.Sleep(longestLate) // until the last late message has arrived
	for _, p := range w.processes {
		commands["heal"](p.kid)
	}
	w.living.Wait()
}

// left returns the data that is left in the store after all that expires has expired.
func (w *world) left() (left []string) {
	time.Sleep(75 * time.Second) // a queue expires after a minute
	w.server.SetTime(w.clock.now())
	for _, key := range w.server.Keys() {
		if !strings.HasSuffix(key, "}:token") && !strings.Contains(key, "}:gone") && key != "distlock:clock" {
			left = append(left, fmt.Sprintf("the server has %s, which ends in %v", key, w.server.TTL(key)))
		}
	}
	return left
}

// history reads the journals.
func (w *world) history() (h *history, sum [sha256.Size]byte) {
	h = &history{
		Keys: w.rig.setup.keys, Losses: w.rig.losses, Nobodys: w.gone.found, Pauses: make(map[string][]window),
		Ends: make(map[string]farewell), Deaths: make(map[string]int64), Drift: 1, TellBound: 50 * time.Millisecond,
	}
	log := make(map[string]testkit.Use)
	for _, u := range w.register.Log() {
		log[u.ID] = u
	}
	digest := sha256.New()
	for _, p := range w.all {
		_, _ = digest.Write(p.text.Bytes())
		entries, err := parseJournal(p.text.Bytes())
		if err == nil {
			err = h.add(p.Proc, append(entries, p.gone...), log)
		}
		if err != nil {
			w.tb.Fatal(err)
		}
		h.Pauses[p.Proc] = p.pauses
		if p.died != 0 {
			continue
		}
		end := farewell{Said: true}
		if p.failure != nil {
			end.Err = p.failure.Error()
		}
		h.Ends[p.Proc] = end
		for worker := range p.Workers {
			h.Workers = append(h.Workers, fmt.Sprintf("%s/%d", p.Proc, worker))
		}
	}
	clear(h.Deaths) // the store keeps the keys of dead processes
	h.findOwners()
	return h, [sha256.Size]byte(digest.Sum(nil))
}
