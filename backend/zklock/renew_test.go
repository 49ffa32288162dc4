package zklock_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// withholding is a connection that withholds the next request that contains a text, and
// lets the others pass.
type withholding struct {
	net.Conn

	mu       sync.Mutex
	text     []byte // nil for no request
	withheld []byte
}

func (c *withholding) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text != nil && c.withheld == nil && bytes.Contains(p, c.text) {
		c.withheld = bytes.Clone(p)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *withholding) withhold(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = []byte(text)
}

// deliver sends the request that was withheld.
func (c *withholding) deliver() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.Conn.Write(c.withheld)
	return err
}

// TestRenewReportsEachResult: a result is reported as soon as it is known. The server gets
// the request for the first grant only after all other results have been reported.
func TestRenewReportsEachResult(t *testing.T) {
	t.Parallel()
	conn := new(withholding)
	b := newBackend(t, []string{shared.Server(t).Addr()},
		zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			c, err := net.DialTimeout(network, address, timeout)
			conn.Conn = c
			return conn, err
		}))
	var grants []driver.Grant
	for i := range 4 {
		grants = append(grants, testkit.MustTry(t, b, testkit.NewRequest(fmt.Sprint("renewed-", i))))
	}
	const slow = 0
	grants = append(grants, testkit.NewRequest("not-held").Grant())
	want := make([]driver.RenewStatus, len(grants))
	for i := range want {
		want[i] = driver.Renewed
	}
	want[len(want)-1] = driver.Lost

	got := make([]driver.RenewStatus, len(grants))
	var reported atomic.Int32
	conn.withhold(parentOf(grants[slow].Key) + "/")
	b.Renew(context.Background(), grants, func(i int, r driver.RenewResult) {
		got[i] = r.Status
		if int(reported.Add(1)) == len(grants)-1 {
			if err := conn.deliver(); err != nil {
				t.Error(err)
			}
		}
	})
	if int(reported.Load()) != len(grants) || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d results, %v; want %v", reported.Load(), got, want)
	}
	for _, g := range grants[:len(grants)-1] {
		testkit.MustRelease(t, b, g)
	}
}
