package locktest

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

// extensions are the requests that extend a lease of their owner.
func (f *fixture) extensions() []func(r driver.Request) error {
	all := []func(r driver.Request) error{
		f.renewing,
		func(r driver.Request) error {
			_, err := f.backend.TryAcquire(f.Context(), r)
			return err
		},
	}
	if f.queue != nil {
		all = append(all, func(r driver.Request) error {
			_, err := f.queue.Enqueue(f.Context(), r)
			return err
		})
	}
	if f.extender != nil {
		all = append(all, func(r driver.Request) error {
			_, err := f.extender.Extend(f.Context(), r.Grant(), 4)
			return err
		})
	}
	return all
}

// renewing is Renew as one of the extensions.
func (f *fixture) renewing(r driver.Request) error {
	f.Helper()
	result := f.renewUnder(f.Context(), []driver.Grant{r.Grant()}, nil)[0]
	if result.Status == driver.Lost {
		return driver.ErrLost
	}
	return result.Err
}

// extend sends a request of the holder that extends its lease, and returns the grant with
// the new lease.
func (f *fixture) extend(g driver.Grant, r driver.Request, send func(driver.Request) error) driver.Grant {
	f.Helper()
	f.mustStillHold(g)
	sent := time.Now()
	switch err := send(r); {
	case err == nil:
		g.Sent, g.TTL = sent, r.TTL
	case running(g.Sent, g.TTL):
		f.Fatalf("the holder lost the key %v after its last request, with a lease of %v: %v", time.Since(g.Sent), g.TTL, err)
	default:
		f.tooSlow()
	}
	return g
}

// keepAlive acquires a key, and extends the lease often until it has lasted for several
// times its TTL.
func (f *fixture) keepAlive(r driver.Request, send func(driver.Request) error) driver.Grant {
	f.Helper()
	g := f.try(r)
	for end := time.Now().Add(2 * r.TTL); time.Now().Before(end); time.Sleep(r.TTL / 10) {
		g = f.extend(g, r, send)
	}
	return g
}

// mustStillHold checks that no other owner gets the key while the lease runs.
func (f *fixture) mustStillHold(g driver.Grant) {
	f.Helper()
	other, err := f.backend.TryAcquire(f.Context(), f.request(g.Key, long))
	if err != nil {
		return
	}
	if running(g.Sent, g.TTL) {
		f.Errorf("another owner got the key %v after the last request of the holder, with a lease of %v", time.Since(g.Sent), g.TTL)
	}
	f.release(other)
}
