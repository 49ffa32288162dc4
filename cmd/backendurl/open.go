package backendurl

import (
	"context"
	"io"
	"sync"
)

// Open opens the backend that rawURL names and checks that it answers, which takes at
// most a few seconds. In a database without tables for locks it creates them. An error
// is one line that names rawURL without user, password and parameters, and quotes nothing
// of a value that it cannot read. It wraps [ErrURL] if rawURL is invalid.
func Open(ctx context.Context, rawURL string) (*Backend, error) {
	b, err := Connect(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	if err := b.reach(ctx); err != nil {
		if c, ok := b.Backend.(io.Closer); ok {
			_ = c.Close() // it was never used
		}
		_ = b.Close()
		return nil, refused(rawURL, because(ctx, err))
	}
	return b, nil
}

// Connect is [Open] without the check: it changes nothing in the store. With etcd and a
// user it logs in.
func Connect(ctx context.Context, rawURL string) (*Backend, error) {
	s, u, err := parse(rawURL)
	if err == nil {
		err = s.check(u)
	}
	if err != nil {
		return nil, refused(rawURL, invalid(err))
	}
	b, err := s.connect(ctx, u)
	if err != nil {
		return nil, refused(rawURL, because(ctx, err))
	}
	if b.reach == nil {
		b.reach = b.ping
	}
	if b.end == nil {
		b.end = func() error { return nil }
	}
	b.end = sync.OnceValue(b.end)
	b.Servers = u.servers
	b.Password, b.TLS = b.Password || u.password() != "", b.TLS || u.tls != nil
	return b, nil
}
