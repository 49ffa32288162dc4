// Package locktest is the conformance suite of distlock's backends. Each "must" in the
// comments of package driver is a case of the suite.
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, func(t *testing.T) driver.Backend {
//			return mylock.New(startServer(t))
//		}, locktest.Features{})
//	}
//
// The subtests have the names group/case, such as renewal/extends. A case that fails says
// which rule was broken and what the rule is for.
package locktest

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Features says what a backend leaves out of the contract, and has functions for what the
// suite needs and a Backend cannot do. The zero value means the whole contract, in real
// time. Cases that need a function are skipped without it. The suite finds the abilities
// of the backend by itself.
type Features struct {
	// Bubble runs each case in its own testing/synctest bubble, in virtual time. The
	// backend is made inside the bubble, and must have all its goroutines there.
	Bubble bool

	// Lease is the TTL of leases that cases let expire. A slow server needs a longer
	// one. In real time the suite takes about sixty times as long. The default is
	// 400 ms.
	Lease time.Duration

	// NoTokens: grants carry no fencing tokens, and both are zero.
	NoTokens bool

	// Settle is how long a free key may still be refused. On a quorum of nodes, a failed
	// attempt gives back what it has taken on some of them only after it has failed. The
	// default, zero, means that a free key is never refused.
	Settle time.Duration

	// Resend is the shortest time that a Release takes if it was sent twice because the
	// first reply did not come. Such a Release need not report a loss: the first request
	// may have given the key back, and another owner may have it since. The default,
	// zero, means that every Release reports a loss.
	Resend time.Duration

	// Drop makes the store forget the holder of key without the backend, as a DEL by an
	// operator does, or a server that loses its data.
	Drop func(t *testing.T, b driver.Backend, key string)

	// Peer returns a second backend on the store of first, like that of another process.
	// It may return first itself if the backend is the store and is not closed.
	Peer func(t *testing.T, first driver.Backend) driver.Backend

	stalls bool // for tests of the suite: in a bubble, with the limits of real time
}

// Run tests the backends that newBackend makes, one for each case. All of them may use one
// server: no two cases use the same key. A backend that is an [io.Closer] is closed at the
// end of its case.
func Run(t *testing.T, newBackend func(t *testing.T) driver.Backend, features Features) {
	t.Helper()
	if features.Lease == 0 {
		features.Lease = 400 * time.Millisecond
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				c.needs = slices.Concat(g.needs, c.needs)
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
	needs []need // of every case, beside its own
	cases []testCase
}

var groups = []group{
	{"exclusion", nil, exclusionCases},
	{"idempotence", nil, idempotenceCases},
	{"expiry", nil, expiryCases},
	{"renewal", nil, renewalCases},
	{"late", nil, lateCases},
	{"loss", []need{needsDrop}, lossCases},
	{"release", nil, releaseCases},
	{"tokens", []need{needsTokens}, tokensCases},
	{"queue", []need{needsQueue}, queueCases},
	{"cancel", nil, cancelCases},
	{"shared", []need{needsShare}, sharedCases},
	{"semaphore", []need{needsShare}, semaphoreCases},
	{"extend", []need{needsExtend}, extendCases},
	{"wake", []need{needsWake}, wakeCases},
	{"inspect", []need{needsInspect}, inspectCases},
	{"revoke", []need{needsRevoke}, revokeCases},
	{"closed", []need{needsPeer, needsClose}, closedCases},
	{"locker", nil, lockerCases},
}

// testCase is one rule and the check of it.
type testCase struct {
	name        string
	explanation string // the rule and its reason, printed on failure
	needs       []need
	run         func(f *fixture)
}

// need is something that a case needs and not every backend has.
type need struct {
	what string
	met  func(f *fixture) bool
}

var (
	needsQueue   = need{"a backend that is a driver.Queuer", func(f *fixture) bool { return f.queue != nil }}
	needsShare   = need{"a backend with driver.Features.Sharing", func(f *fixture) bool { return f.can.Sharing }}
	needsExtend  = need{"a backend that is a driver.Extender", func(f *fixture) bool { return f.extender != nil }}
	needsInspect = need{"a backend that is a driver.Inspector", func(f *fixture) bool { return f.inspector != nil }}
	needsWake    = need{"a backend that is a driver.Waker without a queue", func(f *fixture) bool { return f.waker != nil && f.queue == nil }}
	needsRevoke  = need{"a backend that is a driver.Revoker", func(f *fixture) bool { return f.revoker != nil }}
	needsPing    = need{"a backend that is a driver.Pinger", func(f *fixture) bool { return f.pinger != nil }}
	needsLimit   = need{"a backend with driver.Features.MaxTTL", func(f *fixture) bool { return f.can.MaxTTL > 0 }}
	needsTokens  = need{"fencing tokens (Features.NoTokens is set)", func(f *fixture) bool { return !f.NoTokens }}
	needsDrop    = need{"Features.Drop", func(f *fixture) bool { return f.Drop != nil }}
	needsClose   = need{"a backend that is an io.Closer", func(f *fixture) bool { _, ok := f.backend.(io.Closer); return ok }}
	needsPeer    = need{"Features.Peer", func(f *fixture) bool { return f.Peer != nil }}
)

func (c *testCase) exec(t *testing.T, newBackend func(t *testing.T) driver.Backend, features Features) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.explanation)
		}
	})
	f := newFixture(t, newBackend, features)
	for _, n := range c.needs {
		if !n.met(f) {
			t.Skipf("needs %s", n.what)
		}
	}
	c.run(f)
}
