// Package locktest is the conformance suite of distlock's backends. Each "must" in the
// comments of package driver is a case of the suite.
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, func(t *testing.T) driver.Backend {
//			return mylock.New(addr, net.Dial)
//		}, locktest.Features{
//			Over: func(t *testing.T, _ driver.Backend, n *locktest.Network) driver.Backend {
//				return mylock.New(addr, n.DialContext)
//			},
//		})
//	}
//
// For tests of programs that take locks there are [Order] and [Unreliable].
//
// The subtests have the names group/case, such as renewal/extends. A case that fails says
// which rule was broken and what the rule is for.
package locktest

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Run tests the backends that newBackend makes, one for each case. All of them may use one
// server: no two cases use the same key. A backend that is an [io.Closer] is closed at the
// end of its case.
func Run(t *testing.T, newBackend func(t *testing.T) driver.Backend, features Features) {
	t.Helper()
	if features.Lease == 0 {
		features.Lease = 400 * time.Millisecond
	}
	if features.Over == nil && !features.NoNetwork && !features.Bubble && !features.stalls {
		t.Error("Features has neither Over nor NoNetwork: the cases about the network would be skipped")
	}
	features.turn = new(sync.Mutex)
	if over := features.Over; over != nil && features.Peer == nil {
		features.Peer = func(t *testing.T, first driver.Backend) driver.Backend { return over(t, first, new(Network)) }
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
	{"turn", []need{needsWake}, turnCases},
	{"inspect", []need{needsInspect}, inspectCases},
	{"revoke", []need{needsRevoke}, revokeCases},
	{"handoff", []need{needsHandOff}, handoffCases},
	{"closed", []need{needsPeer, needsClose}, closedCases},
	{"locker", nil, lockerCases},
	{"network", []need{needsNetwork}, networkCases},
}
