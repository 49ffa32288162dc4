// Package wrong has directives with errors.
package wrong

import (
	"context"

	"github.com/distlock-go/distlock"
)

type options interface {
	//distlock:lock value:a keyTimeout:10sx retryInterval:200 retryCount:many mode:both fencing:maybe
	BadValues(ctx context.Context) error
	//distlock:lock value:a keyTimeout:-1s retryCount:-2 permits:3 mode:shared minHold:2s maxHold:1s maxWait:1us
	Nonsense(ctx context.Context) error
	//distlock:lock value:a value:b prefix: mode b valu:c
	Words(ctx context.Context) error
	//distlock:lock KeyTimeout:1s params:a paramlock
	Capitals(ctx context.Context) error
	//distlock:lock value=a keyTimeout:10s
	Equals(ctx context.Context) error
	//distlock:lock value:a key:m["b"] "c"
	Quotes(ctx context.Context) error
	//distlock:lock value:a key:'never closed
	Open(ctx context.Context) error
	//distlock:lock value:a key:r.User. param:r.User as:9 paramLock:false param:ok
	Expressions(ctx context.Context) error
	//distlock:lock prefix:{shop value:pay
	Brace(ctx context.Context) error
	//distlock:lock prefix:shop: locker:l
	NoValue(ctx context.Context) error
	//distlock:lock value:b as:A
	Refund(ctx context.Context, id int) error
	//distlock:lock value:c as:B
	//distlock:lock value:d
	Cancel(ctx context.Context, id int) int
	//distlock:lock value:a
	context.Context
	After(ctx context.Context) error //distlock:lock value:a
}

type service struct {
	locker *distlock.Locker
	nolock int
}

var locker *distlock.Locker

type request struct{ ID int }

type opaque struct{ id int }

//distlock:lock value:a hasher:plain
func (s *service) noParams(ctx context.Context) error { return nil }

//distlock:lock value:a hasher:plain keyFormat:javakey.Aspect
func (s *service) hashedAndFormatted(ctx context.Context) error { return nil }

//distlock:lock value:a hasher:42 keyFormat:locker locker:s.nolock paramLock
func (s *service) types(ctx context.Context) error { return nil }

//distlock:lock value:a
func (s *service) noContext(id int) {}

//distlock:lock value:a param:id param:ctx param:o key:r.Nope.ID key:elsewhere.Name(r) key:o
func (s *service) parts(ctx context.Context, r request, o opaque) error { return nil }

//distlock:lock value:a paramLock
func (r request) unkeyable(ctx context.Context, f func()) error { return nil }

//distlock:lock value:a
func (s *service) Exported(ctx context.Context) error { return nil }

// Pasted from Java.
//
//	@DistributedLock(prefix = "shop:", value = "reserve", paramLock = true)
func (s *service) Pasted(ctx context.Context, sku string) error { return nil }

//distlock:lock value:a
var onAVar = func(ctx context.Context) error {
	//distlock:lock value:a
	return nil
}

// The directive is called distlock:lock, and errors say distlock: nil Locker.
// distlock: this is prose, too.
// //distlock:lock was commented out.
//
//	//distlock:lock in code
//	distlock:lock
func prose() {}

//go:generate true
//dist:lock

/*distlock:lock value:a*/
//dislock:lock value:a
//distlock:lok value:a
//distlock:lock:value:a
// distlock:lock value:a
// distlock lock value:a

//distlock:lock value:hidden
func hides(ctx context.Context, hides int) (nil error) { return nil }
