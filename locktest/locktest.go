// Package locktest is the conformance suite of distlock backends. Every "must"
// in the comments of [driver.Backend] and of its abilities, [driver.Queuer],
// [driver.Features], [driver.Extender], [driver.Inspector],
// [driver.AllAcquirer],and [driver.Pinger], is a case of it.
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, func(t *testing.T) driver.Backend {
//			return mylock.New(startServer(t))
//		}, locktest.Features{})
//	}
//
// Cases have the names group/case, so that go test -run reaches each; one that
// fails says which rule was broken and why the rule is there.
package locktest

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Features says what a backend leaves out of the contract, and gives the suite
// the levers that a Backend does not have. The zero value means the whole
// contract, in real time; cases that need a lever are skipped without it.
// Which abilities the backend has is found out by asking it.
type Features struct {
	// Bubble runs each case in a testing/synctest bubble of its own, in virtual
	// time. The backend is made inside the bubble and must live in it entirely.
	Bubble bool

	// Lease is the TTL of leases that cases let run out. A slow server needs a
	// longer one; in real time the suite takes some forty times as long. The
	// default is 400 ms.
	Lease time.Duration

	// NoTokens: grants carry no fencing tokens, and both are zero.
	NoTokens bool

	// NoExpiry: grants last as long as a session with the store, so one that is
	// not renewed does not end after its TTL.
	NoExpiry bool

	// Settle bounds for how long a key that is free may still be refused: on a
	// quorum of nodes what failed attempts have taken here and there is given back
	// after they have failed. The default, zero, means that there is no such time.
	Settle time.Duration

	// Resend is the least that a Release takes which was sent twice, because the
	// first reply did not come. It need not tell a loss: the key may be another's
	// since the first sending gave it back. The default, zero, means that every
	// Release tells.
	Resend time.Duration

	// Drop makes the store forget who holds key, behind the backend's back, as
	// an operator's DEL does or a server that loses its memory.
	Drop func(t *testing.T, b driver.Backend, key string)

	// Peer returns a second backend on the store of first, as another process
	// has one. It may return first itself if the backend is the store and needs
	// no closing.
	Peer func(t *testing.T, first driver.Backend) driver.Backend

	stalls bool // for tests of the suite: in a bubble, but as patient as in real time
}

// Run tests the backends that newBackend makes, one for each case. All of them
// may use one server: no two cases use the same key. A backend that is an
// [io.Closer] is closed when its case is over.
func Run(t *testing.T, newBackend func(t *testing.T) driver.Backend, features Features) {
	t.Helper()
	if features.Lease == 0 {
		features.Lease = 400 * time.Millisecond
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				run := func(t *testing.T) {
					t.Helper()
					c.exec(t, newBackend, features)
				}
				t.Run(c.name, func(t *testing.T) {
					if features.Bubble || features.stalls {
						synctest.Test(t, run)
					} else {
						run(t)
					}
				})
			}
		})
	}
}

// group holds the cases on one subject.
type group struct {
	name  string
	cases []testCase
}

var groups = []group{
	{"features", featuresCases},
	{"exclusion", exclusionCases},
	{"idempotence", idempotenceCases},
	{"expiry", expiryCases},
	{"renewal", renewalCases},
	{"loss", lossCases},
	{"release", releaseCases},
	{"tokens", tokensCases},
	{"queue", queueCases},
	{"cancel", cancelCases},
	{"shared", sharedCases},
	{"semaphore", semaphoreCases},
	{"extend", extendCases},
	{"inspect", inspectCases},
	{"all", allCases},
	{"locker", lockerCases},
	{"lease", leaseCases},
}

// testCase is one rule and how to find out whether it is kept.
type testCase struct {
	name        string
	explanation string // the rule and its reason, printed on failure
	needs       []need
	run         func(f *fixture)
}

// need is something that not every backend has.
type need string

const (
	needsQueue   need = "a backend that is a driver.Queuer"
	needsShare   need = "a backend with driver.Features.Sharing"
	needsExtend  need = "a backend that is a driver.Extender"
	needsInspect need = "a backend that is a driver.Inspector"
	needsAll     need = "a backend that is a driver.AllAcquirer"
	needsPing    need = "a backend that is a driver.Pinger"
	needsLimit   need = "a backend with driver.Features.MaxTTL"
	needsTokens  need = "fencing tokens (Features.NoTokens is set)"
	needsExpiry  need = "leases that end by themselves (Features.NoExpiry is set)"
	needsDrop    need = "Features.Drop"
	needsPeer    need = "Features.Peer"
)

func (c *testCase) exec(t *testing.T, newBackend func(t *testing.T) driver.Backend, features Features) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.explanation)
		}
	})
	f := newFixture(t, newBackend, features)
	_, pings := f.backend.(driver.Pinger)
	can := f.backend.Features()
	missing := map[need]bool{
		needsQueue:   f.queue == nil,
		needsShare:   !can.Sharing,
		needsExtend:  f.extender == nil,
		needsInspect: f.inspector == nil,
		needsAll:     f.acquirer == nil,
		needsPing:    !pings,
		needsLimit:   can.MaxTTL == 0,
		needsTokens:  f.NoTokens,
		needsExpiry:  f.NoExpiry,
		needsDrop:    f.Drop == nil,
		needsPeer:    f.Peer == nil,
	}
	if i := slices.IndexFunc(c.needs, func(n need) bool { return missing[n] }); i >= 0 {
		t.Skipf("needs %s", c.needs[i])
	}
	c.run(f)
}
