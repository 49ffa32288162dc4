package locktest

import (
	"errors"
	"io"
	"testing"

	"github.com/distlock-go/distlock/driver"
)

// testCase is one rule and the check of it.
type testCase struct {
	name        string
	explanation string // the rule and its reason, printed on failure
	needs       []need
	run         func(p *process)
}

// need is something that a case needs and not every backend has.
type need struct {
	what string
	met  func(p *process) bool
}

var (
	needsQueue   = need{"a backend that is a driver.Queuer", func(p *process) bool { return p.queue != nil }}
	needsShare   = need{"a backend with driver.Features.Sharing", func(p *process) bool { return p.can.Sharing }}
	needsHandOff = need{"a backend with driver.Features.HandOff", func(p *process) bool { return p.can.HandOff }}
	needsExtend  = need{"a backend that is a driver.Extender", func(p *process) bool { return p.extender != nil }}
	needsInspect = need{"a backend that is a driver.Inspector", func(p *process) bool { return p.inspector != nil }}
	needsList    = need{"a driver.Inspector that lists keys", func(p *process) bool {
		_, err := p.inspector.Inspect(p.Context(), p.key(), 1)
		return !errors.Is(err, errors.ErrUnsupported)
	}}
	needsWake    = need{"a backend that is a driver.Waker", func(p *process) bool { return p.waker != nil }}
	needsRevoke  = need{"a backend that is a driver.Revoker", func(p *process) bool { return p.revoker != nil }}
	needsPing    = need{"a backend that is a driver.Pinger", func(p *process) bool { return p.pinger != nil }}
	needsLimit   = need{"a backend with driver.Features.MaxTTL", func(p *process) bool { return p.can.MaxTTL > 0 }}
	needsTokens  = need{"fencing tokens (Features.NoTokens is set)", func(p *process) bool { return !p.NoTokens }}
	needsDrop    = need{"Features.Drop", func(p *process) bool { return p.Drop != nil }}
	needsClose   = need{"a backend that is an io.Closer", func(p *process) bool { _, ok := p.backend.(io.Closer); return ok }}
	needsNothing = need{"", func(*process) bool { return true }}
	needsNetwork = need{"Features.Over", func(p *process) bool { return p.Over != nil }}
	needsPeer    = need{"Features.Peer", func(p *process) bool { return p.Peer != nil }}
)

func (c *testCase) exec(t *testing.T, newBackend func(t *testing.T) driver.Backend, features Features) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.explanation)
		}
	})
	p := newProcess(newFixture(t, features), newBackend(t))
	for _, n := range c.needs {
		if !n.met(p) {
			t.Skipf("needs %s", n.what)
		}
	}
	c.run(p)
}
