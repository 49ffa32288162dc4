package fence_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var (
	secret = []byte(strings.Repeat("s", 32))
	other  = []byte(strings.Repeat("o", 32))
	signed = fence.Signed(secret)
)

// sent returns the texts that go with a call.
func sent(ctx context.Context, t *testing.T, b *fence.Boundary) []string {
	t.Helper()
	texts, err := b.Tickets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// have checks which tickets a function runs under.
func have(ctx context.Context, t *testing.T, want ...ticket) {
	t.Helper()
	for _, w := range want {
		got, ok := fence.FromContext(ctx, w.key)
		if ok != (w.token != 0) || ok && (got.Key() != w.key || got.Token() != w.token) || !ok && got != nil {
			t.Errorf("the ticket is %v, %v, want %v", got, ok, w)
		}
	}
}

// All leases that the caller holds alone travel, each once, and go on to the next service. A
// callee has a ticket for these keys and no others, and waits for none of them.
func TestTicketsTravel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
		read := testkit.MustAcquire(t, l, "read", distlock.Opts{Mode: distlock.Shared})
		defer func() { _ = read.Release(t.Context()) }()
		err := l.DoAll(read.Context(), []string{"tea", "pot"}, distlock.Opts{}, func(ctx context.Context) error {
			return l.Do(ctx, "tea", distlock.Opts{}, func(ctx context.Context) error { // a re-entry
				tea, _ := distlock.Held(ctx, "tea")
				pot, _ := distlock.Held(ctx, "pot")
				here := []ticket{{"tea", tea.Token()}, {"pot", pot.Token()}, {"read", 0}, {"te", 0}}
				have(ctx, t, here...)
				texts := sent(ctx, t, signed)
				if len(texts) != 2 {
					t.Errorf("%d tickets: %v", len(texts), texts)
				}
				there, err := signed.Context(t.Context(), []string{strings.Join(texts, ", ")}) // a proxy joins them
				if err != nil {
					t.Fatal(err)
				}
				have(there, t, here...)
				onward, err := signed.Context(t.Context(), sent(there, t, signed))
				if err != nil {
					t.Fatal(err)
				}
				have(onward, t, here...)
				if twice, err := signed.Context(onward, texts); err != nil || len(sent(twice, t, signed)) != 2 { // behind two middlewares
					t.Errorf("put there twice: %v, %v", sent(twice, t, signed), err)
				}
				callee := testkit.NewLocker(t, memlock.New(), distlock.Config{})
				for _, key := range []string{"tea", "pot"} {
					if _, err := callee.Acquire(onward, key, distlock.Opts{}); !errors.Is(err, distlock.ErrReentry) || distlock.Ran(err) {
						t.Errorf("the lock of %q: %v", key, err)
					}
				}
				return callee.Do(onward, "cup", distlock.Opts{}, func(ctx context.Context) error { // below it is the ticket, too
					cup, _ := distlock.FromContext(ctx)
					have(ctx, t, append(here, ticket{"cup", cup.Token()})...)
					have(distlock.Detach(ctx), t, ticket{"tea", 0}, ticket{"cup", 0})
					return callee.Do(distlock.Detach(ctx), "tea", distlock.Opts{}, func(context.Context) error { return nil })
				})
			})
		})
		if err != nil {
			t.Error(err)
		}
		if texts := sent(t.Context(), t, signed); texts != nil {
			t.Errorf("without a lease: %v", texts)
		}
	})
}

// A caller whose lease is over sends nothing, even if it ignores its context.
func TestLostLeaseDoesNotTravel(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	lease := testkit.MustAcquire(t, l, "tea", distlock.Opts{})
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if texts, err := signed.Tickets(context.WithoutCancel(lease.Context())); !errors.Is(err, distlock.ErrLost) || texts != nil {
		t.Errorf("%v, %v", texts, err)
	}
}

// forge returns a text that is signed by nobody.
func forge(key, token string, sent time.Time) string {
	value := fmt.Sprintf(`{"k":%q,"f":%s,"a":%d}`, key, token, sent.Unix())
	return "ticket1." + base64.RawURLEncoding.EncodeToString(append([]byte(value), make([]byte, 32)...))
}

// What is forged, changed, unsigned, malformed or old is refused by name.
func TestTicketsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bare := forge("tea", "7", time.Now())
		ctx, err := fence.Unsigned.Context(t.Context(), []string{bare})
		if err != nil {
			t.Fatal(err)
		}
		good := sent(ctx, t, signed)[0]
		eight := forge("tea", "8", time.Now())
		refused := func(what string, b *fence.Boundary, detail string, texts ...string) {
			t.Helper()
			wrong := new(fence.TicketError)
			if got, err := b.Context(t.Context(), texts); !errors.As(err, &wrong) || !strings.Contains(wrong.Detail, detail) || got != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		refused("a changed token", signed, "not signed", eight[:len(eight)-43]+good[len(good)-43:])
		refused("no signature", signed, "not signed", bare)
		refused("a checksum", signed, "not signed", sent(ctx, t, fence.Unsigned)[0])
		refused("another secret", fence.Signed(other), "not signed", good)
		refused("one of two", signed, "not signed", good, bare)
		refused("twice", signed, "twice", good, good)
		for _, text := range []string{
			"", "tea", "ticket1.", bare[8:], bare + "A", bare[:len(bare)-1] + "?", bare[:40], "ticket1." + bare, "distlock1." + bare[8:],
			forge("tea", "-7", time.Now()), forge("tea", "99999999999999999999", time.Now()), forge("", "7", time.Now()), forge(strings.Repeat("x", 256), "7", time.Now()),
		} {
			refused(fmt.Sprintf("%q", text), fence.Unsigned, "malformed", text)
		}
		for _, b := range []*fence.Boundary{signed, fence.Signed(other, secret), fence.Unsigned} {
			got, err := b.Context(t.Context(), []string{good})
			if err != nil {
				t.Fatal(err)
			}
			have(got, t, ticket{"tea", 7}, ticket{"pot", 0})
		}
		refused("one signed with the new secret", signed, "not signed", sent(ctx, t, fence.Signed(other, secret))...)
		<-time.After(5*time.Minute + time.Second)
		refused("an old one", signed, "too old", good)
		refused("one of the future", fence.Unsigned, "from the future", forge("tea", "7", time.Now().Add(301*time.Second)))
		early := sent(ctx, t, signed)[0]
		if _, err := signed.Context(t.Context(), []string{early}); err != nil {
			t.Error(err)
		}
	})
}

// A secret that is missing, such as an empty variable of the environment, stops the program.
func TestSecretsAreLong(t *testing.T) {
	t.Parallel()
	mine := []byte(strings.Repeat("s", 32))
	copied := fence.Signed(mine)
	clear(mine) // as some do with what is secret
	carrying, err := fence.Unsigned.Context(t.Context(), []string{forge("k", "1", time.Now())})
	if err == nil {
		_, err = signed.Context(t.Context(), sent(carrying, t, copied))
	}
	if err != nil {
		t.Error(err)
	}
	testkit.WantPanic(t, "fence: Signed: a secret of 31 bytes, want at least 32", func() { fence.Signed(secret[1:]) })
	testkit.WantPanic(t, "fence: Signed: a secret of 0 bytes, want at least 32", func() { fence.Signed(secret, nil) })
}
