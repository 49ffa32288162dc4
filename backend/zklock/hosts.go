package zklock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// lookupTimeout limits the lookup of all names.
const lookupTimeout = 3 * time.Second

// hosts is a [zk.HostProvider] that looks the names of the servers up again after each
// connection that has ended, and after it has returned all addresses. So a server may
// move to another address. All methods but Init are called by one goroutine of the
// client library.
type hosts struct {
	ctx    context.Context //nolint:containedctx // ends when the Backend is closed
	lookup func(ctx context.Context, host string) ([]string, error)

	servers []string  // each is a host and a port
	round   []string  // the addresses that are still to be tried
	last    string    // the address that was tried last
	failed  bool      // there was no connection since the round before began
	since   time.Time // when a connection began last

	several atomic.Bool // the names have had more than one address
}

// Init implements [zk.HostProvider]. It looks nothing up.
func (h *hosts) Init(servers []string) error {
	for _, s := range servers {
		_, port, err := net.SplitHostPort(s)
		if err != nil {
			return err
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fmt.Errorf("server %q: the port is not a number (Config.Root is the path)", s)
		}
	}
	h.servers = servers
	return nil
}

func (h *hosts) Len() int { return len(h.servers) }

// shortConnection is the time that a connection lasts at least before the next one is
// opened without a pause. A server may end each connection at once, because of its
// credentials.
const shortConnection = time.Second

// Next implements [zk.HostProvider]. The library waits for a second if retryStart is
// true.
func (h *hosts) Next() (server string, retryStart bool) {
	if len(h.round) == 0 {
		h.round = h.resolve()
		retryStart = h.failed || time.Since(h.since) < shortConnection
		h.failed = true
	}
	h.last, h.round = h.round[0], h.round[1:]
	return h.last, retryStart
}

func (h *hosts) Connected() { h.round, h.failed, h.since = nil, false, time.Now() }

// resolve returns the addresses of the servers in a random order. The address that was
// tried last is at the end. For a name that is not known it returns the name: to dial
// it is an error that says so, and it may be known by then.
func (h *hosts) resolve() []string {
	ctx, end := context.WithTimeout(h.ctx, lookupTimeout)
	defer end()
	found := make([][]string, len(h.servers))
	var lookups sync.WaitGroup
	for i, server := range h.servers {
		lookups.Go(func() {
			host, port, _ := net.SplitHostPort(server) // Init has checked it
			addrs, err := h.lookup(ctx, host)
			if err != nil || len(addrs) == 0 {
				found[i] = []string{server}
				return
			}
			for _, a := range addrs {
				found[i] = append(found[i], net.JoinHostPort(a, port))
			}
		})
	}
	lookups.Wait()
	all := slices.Concat(found...)
	slices.Sort(all)
	all = slices.Compact(all)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	h.several.Store(len(all) > 1)
	if i := slices.Index(all, h.last); i >= 0 {
		all = append(slices.Delete(all, i, i+1), h.last)
	}
	return all
}
