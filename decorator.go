package distlock

import (
	"context"
	"fmt"
	"reflect"
)

// Func is a function of one request that can be locked. A method value of a
// service, such as svc.Pay, is one.
type Func[Req, Resp any] func(ctx context.Context, req Req) (Resp, error)

// Wrap returns fn under a lock: the annotation. What [Locker.Do] says of its
// function holds for fn; a response that was produced although the lease was
// lost comes together with an error that wraps [ErrLost].
//
// If fn uses a database transaction, fn commits it: a lock inside a transaction
// is given back before the commit, and the next holder reads what is about to
// change.
//
// Wrap panics if l or fn is nil, if o is invalid (see [Opts.Validate]), if
// o.Params takes another type than Req, or if Req can never be made into a key.
// The function that it returns never panics by itself and is safe for
// concurrent use if fn is.
func Wrap[Req, Resp any](l *Locker, fn Func[Req, Resp], o Opts) Func[Req, Resp] {
	req := reflect.TypeFor[Req]()
	if fn == nil {
		panic(fmt.Sprintf("distlock: Wrap: nil Func[%v, %v]", req, reflect.TypeFor[Resp]()))
	}
	site := l.Site(o)
	if err := site.keys.checkRequest(req); err != nil {
		panic("distlock: Wrap: " + err.Error())
	}
	return func(ctx context.Context, req Req) (resp Resp, err error) {
		var params any
		if o.ParamLock {
			params = req
		}
		lease, err := site.begin(ctx, params)
		if err != nil {
			return resp, err
		}
		if lease == nil {
			return fn(ctx, req)
		}
		defer lease.finish(&err)
		return fn(&lease.ctx, req)
	}
}
