package fence

import (
	"bytes"
	"context"
	"fmt"
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
		if len(s) < 32 {
			panic(fmt.Sprintf("fence: Signed: a secret of %d bytes, want at least 32", len(s)))
		}
		b.secrets = append(b.secrets, bytes.Clone(s))
	}
	return b
}

// A text of a ticket begins with kind, and is good for validity.
const (
	kind     = "ticket1."
	validity = 5 * time.Minute
)

// ticket is one that goes with a call, or came with it.
type ticket struct {
	Of     string `json:"k"`
	Number uint64 `json:"f"`
	Sent   int64  `json:"a"` // in seconds of Unix time
}

func (t ticket) Key() string   { return t.Of }
func (t ticket) Token() uint64 { return t.Number }

// Tickets returns the tickets in ctx as texts to send with a call, none if there are none. If a
// lease is over, the error matches distlock.ErrLost, and nothing should be sent. A text has
// letters, digits, "-", "_" and ".", and can be read by others: it contains the key.
func (b *Boundary) Tickets(ctx context.Context) (texts []string, err error) {
	all := held(ctx)
	for i, t := range all {
		if all[:i].Find(t.Key()) != nil {
			continue
		}
		if err := over(t); err != nil {
			return nil, err
		}
		texts = append(texts, bridge.Seal(kind, b.secrets, ticket{t.Key(), t.Token(), time.Now().Unix()}))
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
		var t ticket
		switch good := bridge.Open(kind, b.secrets, strings.TrimSpace(text), &t); {
		case !good || t.Of == "" || len(t.Of) > maxKey:
			return nil, &TicketError{"is malformed, or not signed with the secret of this service"}
		case time.Since(time.Unix(t.Sent, 0)).Abs() > validity:
			return nil, &TicketError{"is too old, or from the future"}
		case all.Find(t.Of) != nil:
			return nil, &TicketError{"is there twice"}
		}
		all = append(all, t)
	}
	return context.WithValue(ctx, bridge.Carried{}, append(all, bridge.CarriedBy(ctx)...)), nil
}

// FromContext returns the ticket of a full key under which the caller runs: its own lease, or
// the ticket that came with the call. It returns nil and false if there is none, or if others
// may share the lock: then tokens have no order. It does not look at other keys, because the
// lock of another resource protects nothing here.
func FromContext(ctx context.Context, key string) (Ticket, bool) {
	t := held(ctx).Find(key)
	return t, t != nil
}

// held returns the tickets in ctx, the innermost of a key first.
func held(ctx context.Context) bridge.Tickets {
	return append(bridge.Leases(ctx), bridge.CarriedBy(ctx)...)
}
