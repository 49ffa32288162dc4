package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// roleKid is the role of a child process. Its order is a config.
const roleKid = "kid"

// healBound limits the time in which all workers are served after the faults have
// ended.
const healBound = 60 * time.Second

// Commands to a child, one per line of its input. At the end of the input the child
// exits.
const (
	cmdHang   = "hang"   // open and new connections are cut silently
	cmdDeafen = "deafen" // replies on open connections are lost
	cmdRefuse = "refuse" // connections are closed, and new ones refused
	cmdKill   = "kill"   // connections are closed
	cmdHold   = "hold"   // the next request on some connection, and all later ones there, are held back
	cmdSend   = "send"   // what was held back is sent
	cmdMend   = "mend"   // the network works again; connections that were cut are closed
	cmdCancel = "cancel" // all waiting acquisitions are cancelled
	cmdHeal   = "heal"   // the faults have ended
)

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
	Shares   bool // the backend has readers and permits
}

// kid is the state of a child process.
type kid struct {
	config
	journal *journal
	anchor  anchor
	network spoilnet.Network
	locker  *distlock.Locker
	ids     atomic.Uint64 // of acquisitions, sets and uses
	healed  chan struct{}

	mu      sync.Mutex
	waiting map[uint64]context.CancelFunc
}

// beKid runs a child process.
func beKid(c *testkit.Child) (err error) {
	k := &kid{anchor: newAnchor(), healed: make(chan struct{}), waiting: make(map[uint64]context.CancelFunc)}
	if err := c.Decode(&k.config); err != nil {
		return err
	}
	if k.journal, err = openJournal(k.Journal); err != nil {
		return err
	}
	redis.SetLogger(silence{}) // the client logs every lost connection
	life, end := context.WithCancel(context.Background())
	defer end()
	go k.obey(c, end)
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

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// obey follows the parent's commands.
func (k *kid) obey(c *testkit.Child, end context.CancelFunc) {
	for line := c.Hear(); line != ""; line = c.Hear() {
		switch line {
		case cmdHang:
			k.network.Hang(true)
		case cmdDeafen:
			k.network.Deafen()
		case cmdRefuse:
			k.network.Refuse(true)
			k.network.Kill()
		case cmdKill:
			k.network.Kill()
		case cmdHold:
			k.network.HoldAt(func([]byte) bool { return true })
		case cmdSend:
			k.network.HoldAt(nil)
			_ = k.network.Deliver() // its connection may be broken meanwhile
		case cmdMend:
			k.network.Hang(false)
			k.network.Refuse(false)
			k.network.CloseCut()
		case cmdCancel:
			k.mu.Lock()
			for _, cancel := range k.waiting {
				cancel()
			}
			k.mu.Unlock()
		case cmdHeal:
			close(k.healed)
			time.AfterFunc(healBound, end)
		}
	}
	os.Exit(3) // the parent is gone
}

// live runs the workers until all are served after the faults have ended, and closes
// everything.
func (k *kid) live(life context.Context) error {
	backend, closeClients, err := k.open()
	if err != nil {
		return err
	}
	k.locker = distlock.New(backend, distlock.Config{Hooks: hooks()})
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
