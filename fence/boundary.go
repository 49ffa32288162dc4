package fence

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock/internal/bridge"
)

// Boundary is around services that take tickets from each other. It is safe for concurrent use.
type Boundary struct{ secrets [][]byte }

// Unsigned is a network in which nobody forges tickets. It does not look at signatures.
var Unsigned = new(Boundary)

// Signed returns a Boundary of services that share a secret. It copies the secret, and panics if
// that has less than 32 bytes. A ticket that is signed with one of old is accepted too, so a
// secret can be changed. A ticket is good for 5 minutes, for which clocks may also differ, wherever
// its secret is.
func Signed(secret []byte, old ...[]byte) *Boundary {
	b := new(Boundary)
	for _, s := range append([][]byte{secret}, old...) {
		if len(s) < sha256.Size {
			panic(fmt.Sprintf("fence: Signed: a secret of %d bytes, want at least %d", len(s), sha256.Size))
		}
		b.secrets = append(b.secrets, bytes.Clone(s))
	}
	return b
}

const validity = 5 * time.Minute

// Tickets returns the tickets in ctx as texts to send with a call, none if there are none. If a
// lease is over, the error matches distlock.ErrLost, and nothing should be sent. A text has
// letters, digits, "-", "_" and ".", and can be read by others: it contains the key.
func (b *Boundary) Tickets(ctx context.Context) (texts []string, err error) {
	for _, t := range held(ctx) {
		if err := over(t); err != nil {
			return nil, err
		}
		text := fmt.Sprintf("%s.%d.%d.", encoding.EncodeToString([]byte(t.Key())), t.Token(), time.Now().Unix())
		if len(b.secrets) > 0 {
			text += signature(b.secrets[0], text)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// Context returns ctx with the tickets that came with a call. If one is malformed, not signed
// as it must be, or too old, the error is a [*TicketError], and the call must be refused. A lock
// of the same key is refused below ctx with distlock.ErrReentry, because the caller holds it.
func (b *Boundary) Context(ctx context.Context, texts []string) (context.Context, error) {
	if len(texts) == 0 {
		return ctx, nil
	}
	var all bridge.Tickets
	for text := range strings.SplitSeq(strings.Join(texts, ","), ",") { // proxies join headers
		t, err := b.open(strings.TrimSpace(text))
		if err == nil && all.Find(t.key) != nil {
			err = &TicketError{"is there twice"}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return context.WithValue(ctx, bridge.Carried{}, all.With(bridge.CarriedBy(ctx))), nil
}

// ticket is one that came with a call.
type ticket struct {
	key   string
	token uint64
}

func (t ticket) Key() string   { return t.key }
func (t ticket) Token() uint64 { return t.token }

func (b *Boundary) open(text string) (t ticket, err error) {
	end := strings.LastIndexByte(text, '.') + 1
	good := len(b.secrets) == 0
	for _, secret := range b.secrets {
		good = good || hmac.Equal([]byte(text[end:]), []byte(signature(secret, text[:end])))
	}
	if !good {
		return t, &TicketError{"is not signed with the secret of this service"}
	}
	parts := strings.Split(text, ".")
	if len(parts) != 4 {
		return t, errMalformed
	}
	key, err1 := encoding.DecodeString(parts[0])
	token, err2 := strconv.ParseUint(parts[1], 10, 64)
	sent, err3 := strconv.ParseInt(parts[2], 10, 64)
	switch age := time.Since(time.Unix(sent, 0)); {
	case err1 != nil || err2 != nil || err3 != nil || len(key) == 0 || len(key) > maxKey:
		return t, errMalformed
	case age > validity || age < -validity:
		return t, &TicketError{"is too old, or from the future"}
	default:
		return ticket{string(key), token}, nil
	}
}

var errMalformed = &TicketError{"is malformed"}

var encoding = base64.RawURLEncoding.Strict()

func signature(secret []byte, text string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("distlock ticket " + text))
	return encoding.EncodeToString(mac.Sum(nil))
}

// FromContext returns the ticket of a full key under which the caller runs: its own lease, or
// the ticket that came with the call. It returns nil and false if there is none, or if others
// may share the lock: then tokens have no order. It does not look at other keys, because the
// lock of another resource protects nothing here.
func FromContext(ctx context.Context, key string) (Ticket, bool) {
	t := held(ctx).Find(key)
	return t, t != nil
}

func held(ctx context.Context) (all bridge.Tickets) {
	if bridge.Leases != nil {
		all = bridge.Leases(ctx)
	}
	return all.With(bridge.CarriedBy(ctx))
}
