package distlock

import (
	"context"
	"fmt"
	"reflect"
)

// Func is a function of one request, for example a method value of a service.
type Func[Req, Resp any] func(ctx context.Context, req Req) (Resp, error)

// Wrap returns fn under a lock, as [Locker.Do] runs it. A response that fn returned
// although the lease was lost comes with an error that wraps [ErrLost]. Below a holder of
// the same key, calls do not exclude each other: see [Opts].OneReentry.
//
// Wrap panics if l or fn is nil, if o is invalid (see [Opts.Validate]), if o.Params
// takes another type than Req, or if Req can never be made into a key. The result does
// not panic by itself.
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
