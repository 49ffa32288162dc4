// Package shop has annotated functions and methods of many shapes.
package shop

import (
	"context"
	"fmt"
	clock "time"

	"github.com/distlock-go/distlock"
)

//go:generate go tool distlockgen

type Receipt struct{ ID int64 }

type Service struct {
	locker *distlock.Locker
	other  struct{ lk *distlock.Locker }
}

type Request struct{ User struct{ ID string } }

var locker *distlock.Locker

//distlock:lock value:all paramLock retryCount:3 maxWait:3s maxHold:1m minHold:1500ms fencing reentry:one locker:s.other.lk hasher:distlock.Keyed(nil)
func (s Service) all(at clock.Time, ctx context.Context, b ...string) (r *Receipt, n int, err error) {
	return nil, 0, nil
}

// joined is a KeyFormat.
func joined(base string, params any) (string, error) { return fmt.Sprint(base, "/", params), nil }

//distlock:lock prefix:shop: value:formatted keyFormat:joined param:order param:done as:Formatted
func formatted(ctx context.Context, joined string, order int, done func()) error { return nil }

//distlock:lock value:expr key:r.User.ID key:'fmt.Sprintf("%04d", n)' permits:3 as:Expression
func expr(ctx context.Context, r Request, n int) (_, _ string, _ error) { return "", "", nil }

//distlock:lock value:whole mode:shared
func (s *Service) whole(context.Context, int, ...func(int) chan<- int) error { return nil }

// Names that hide names of generated code.
//
//distlock:lock value:hidden param:time
func hidden(err context.Context, context, distlock string, time int) (ctx int, r0 error) {
	return 0, nil
}

//distlock:lock value:predeclared param:uint param:len
func (s *Service) predeclared(string context.Context, uint, len int) (true string, time, fmt error) {
	return "", time, fmt
}

//distlock:lock value:hidden2
func (locker *Service) hidden2(context.Context) (done error) { return nil }
