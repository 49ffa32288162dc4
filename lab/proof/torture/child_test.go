package torture

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// roleKid is the role of a child process. Its order is a config.
const roleKid = "kid"

// healBound limits the time in which all workers are served after the faults have
// ended.
const healBound = 60 * time.Second

// commands are what a child can be told, one per line of its input. At the end of the input
// the child exits.
var commands = map[string]func(k *kid){
	"hang":   func(k *kid) { k.network.Hang(true) },                                                 // open and new connections are cut silently
	"deafen": func(k *kid) { k.network.Deafen() },                                                   // replies on open connections are lost
	"refuse": func(k *kid) { k.network.Refuse(true); k.network.Kill() },                             // connections are closed, and new ones refused
	"kill":   func(k *kid) { k.network.Kill() },                                                     // connections are closed
	"hold":   func(k *kid) { k.network.At(spoilnet.Hold, func([]byte) bool { return true }) },       // the next request on some connection, and all later ones there, are held back
	"send":   func(k *kid) { k.network.At(spoilnet.Hold, nil); _ = k.network.Deliver() },            // what was held back is sent, if its connection is not broken
	"mend":   func(k *kid) { k.network.Hang(false); k.network.Refuse(false); k.network.CloseCut() }, // connections that were cut are closed
	"cancel": (*kid).cancelWaiters,
	"heal":   func(k *kid) { close(k.healed); time.AfterFunc(healBound, k.end) }, // the faults have ended
}

// config is the input of a child process.
type config struct {
	Backend  string
	Addrs    []string
	Register string
	Journal  string
	Proc     string // Number and Life
	Number   int
	Life     int
	Seed     uint64
	Workers  int
	Keys     int
	Shares   bool          // the backend has readers and permits
	Slow     int           // how many times as long as usual workers rest and hold a key; 0 is 1
	Rest     int           // how many times as long as usual they rest; 0 is Slow
	Lease    time.Duration // of key 0; 0 is a second
	Long     int           // one of how many leases is held for longer than a lease; 0 is 50
	Longer   time.Duration // by how much at most; 0 is 500 ms
	Keeps    int           // one of how many leases has MinHold; 0 is 15
}

// kid is the state of a child process.
type kid struct {
	config
	journal *journal
	network *spoilnet.Network
	connect func() (driver.Backend, func(), error)
	locker  *distlock.Locker
	use     func() user
	ids     atomic.Uint64 // of acquisitions, sets and uses
	healed  chan struct{}
	end     context.CancelFunc // of its life

	mu      sync.Mutex
	waiting map[uint64]context.CancelFunc
	inside  map[uint64]*attempt
}

func newKid() *kid {
	k := &kid{network: new(spoilnet.Network), healed: make(chan struct{}), waiting: make(map[uint64]context.CancelFunc), inside: make(map[uint64]*attempt)}
	k.connect = k.open
	k.use = func() user { return testkit.DialRegister(k.Register) }
	return k
}

// user uses the resource that the locks protect.
type user interface {
	Use(u testkit.Use) (accepted bool, err error)
	Close()
}

// beKid runs a child process.
func beKid(c *testkit.Child) (err error) {
	k := newKid()
	if err := c.Decode(&k.config); err != nil {
		return err
	}
	if k.journal, err = openJournal(k.Journal); err != nil {
		return err
	}
	logging.Disable()                              // the client logs every lost connection
	slog.SetDefault(slog.New(slog.DiscardHandler)) // and a backend, once, what short leases cost
	var life context.Context
	life, k.end = context.WithCancel(context.Background())
	defer k.end()
	go k.obey(c)
	known := goleak.IgnoreCurrent()

	bye := entry{What: sawEnd}
	if err := k.live(life); err != nil {
		bye.Err = err.Error()
	} else if err := goleak.Find(known, ignoreDial); err != nil {
		bye.Err = err.Error()
	}
	bye.Time = now()
	k.journal.write(bye)
	return nil
}

// ignoreDial: go-redis tries to reach a dead server once a second, and notices only
// then that the client was closed.
var ignoreDial = goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")

// obey follows the parent's commands.
func (k *kid) obey(c *testkit.Child) {
	for line := c.Hear(); line != ""; line = c.Hear() {
		commands[line](k)
	}
	os.Exit(3) // the parent is gone
}

// cancelWaiters cancels all waiting acquisitions.
func (k *kid) cancelWaiters() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, cancel := range k.waiting {
		cancel()
	}
}

// live runs the workers until all are served after the faults have ended, and closes
// everything.
func (k *kid) live(life context.Context) error {
	backend, closeClients, err := k.connect()
	if err != nil {
		return err
	}
	k.locker = distlock.New(backend, distlock.Config{Hooks: hooks(), Holder: "process-" + k.Proc})
	stop := make(chan struct{})
	var watching, working sync.WaitGroup
	watching.Go(func() { k.watchStalls(stop) })
	errs := make(chan error, k.Workers)
	for i := range k.Workers {
		working.Go(func() {
			rng := rand.New(rand.NewPCG(k.Seed, uint64(k.Number*10_000+k.Life*100+i)+2))
			w := &worker{kid: k, number: i, rng: rng}
			errs <- w.work(life)
		})
	}
	working.Wait()
	close(stop)
	watching.Wait()
	close(errs)
	for e := range errs {
		if e != nil {
			err = e
		}
	}
	k.journal.write(entry{Time: now(), What: sawClose})
	if e := k.locker.Close(); e != nil {
		err = fmt.Errorf("closing the locker: %w", e)
	}
	closeClients()
	return err
}

// watchStalls records when the process did not run for a while, because it was stopped
// or because the machine was busy.
func (k *kid) watchStalls(stop <-chan struct{}) {
	const beat, noise = 10 * time.Millisecond, 30 * time.Millisecond
	tick := time.NewTicker(beat)
	defer tick.Stop()
	last := now()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			t := now()
			if gap := t - last; gap > int64(noise) {
				k.journal.write(entry{Time: t, What: sawStall, Gap: gap})
			}
			last = t
		}
	}
}
