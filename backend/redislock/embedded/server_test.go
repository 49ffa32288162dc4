package embedded_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/backend/redislock/embedded"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// Leases end by themselves, neither later nor earlier by more than their safety margin.
func TestRealTime(t *testing.T) {
	s := embedded.Start()
	defer s.Close()
	c := s.Client()
	ctx := t.Context()
	for range 20 {
		const ttl = 25 * time.Millisecond
		before := time.Now()
		if err := c.Set(ctx, "k", "v", ttl).Err(); err != nil {
			t.Fatal(err)
		}
		for c.Exists(ctx, "k").Val() == 1 {
			if time.Since(before) > 10*time.Second {
				t.Fatal("the key does not end")
			}
		}
		if d := time.Since(before); d < ttl-time.Millisecond {
			t.Errorf("a key of %v has ended after %v", ttl, d)
		}
	}
}

func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := embedded.Start()
		defer s.Close()
		c := s.Client()
		ctx := t.Context()
		// Many commands over time must not add up to a drift.
		if err := c.Set(ctx, "k", "v", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			time.Sleep(3590 * time.Millisecond)
			if c.Exists(ctx, "k").Val() != 1 {
				t.Fatal("the key ended early")
			}
		}
		time.Sleep(10*time.Second - time.Millisecond)
		if c.Exists(ctx, "k").Val() != 1 {
			t.Error("the key ended early")
		}
		time.Sleep(time.Millisecond)
		if c.Exists(ctx, "k").Val() != 0 {
			t.Error("the key does not end")
		}
	})
}

// A pipeline larger than all buffers: the client reads replies only at the end.
func TestLargePipeline(t *testing.T) {
	s := embedded.Start()
	defer s.Close()
	pipe := s.Client().Pipeline()
	for range 10_000 {
		pipe.Echo(t.Context(), "twenty bytes of text")
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestListen(t *testing.T) {
	s := embedded.Start()
	defer s.Close()
	if a := s.Addr(); a != "" {
		t.Errorf("it listens on %q", a)
	}
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil || addr != s.Addr() {
		t.Fatalf("%q, %q, %v", addr, s.Addr(), err)
	}
	if _, err := s.Listen("127.0.0.1:0"); err == nil {
		t.Error("it listens twice")
	}
	far := redis.NewClient(&redis.Options{Addr: addr})
	defer far.Close()
	if err := far.Set(t.Context(), "k", "v", 20*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	near := s.Client()
	for start := time.Now(); near.Exists(t.Context(), "k").Val() == 1; {
		if time.Since(start) > 10*time.Second {
			t.Fatal("the key does not end")
		}
	}
}

func TestListenFails(t *testing.T) {
	s := embedded.Start()
	if _, err := s.Listen("256.0.0.1:0"); err == nil {
		t.Error("it listens on no address")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Listen("127.0.0.1:0"); err == nil {
		t.Error("it listens although it is closed")
	}
}

func TestClose(t *testing.T) {
	s := embedded.Start()
	c := s.Client()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	other := redis.NewClient(s.Options())
	defer other.Close()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a closed server answers")
	}
	if err := other.Ping(t.Context()).Err(); err == nil {
		t.Error("a closed server answers a client of the caller's")
	}
	if err := s.Client().Ping(t.Context()).Err(); err == nil {
		t.Error("a closed server answers a new client")
	}
}

// A client that opens a connection in the background while the server is closed does
// not retry: it would outlive the bubble.
func TestClosedIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := embedded.Start()
		o := s.Options()
		o.MaxRetries = -1
		c := redis.NewClient(o)
		defer c.Close()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := c.Ping(t.Context()).Err(); err == nil {
			t.Error("a closed server has answered")
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("it was asked for %v", d)
		}
	})
}
