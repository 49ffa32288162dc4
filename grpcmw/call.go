package grpcmw

import (
	"errors"
	"reflect"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

// call is a checked rule.
type call struct {
	method string
	key    Key
	site   *wiring.Site

	// input is set for streams with a single request, which is received before the lock
	// is taken.
	input protoreflect.MessageType
}

// fit checks that the key can be made for the method, if it is known, and that the
// interceptor, which is for streams or for unary methods, sees the method.
func (c *call) fit(desc protoreflect.MethodDescriptor, forStreams bool) error {
	switch {
	case desc == nil:
		return nil
	case streams(desc) && !forStreams:
		return errors.New("the method streams: its rule belongs to StreamServerInterceptor")
	case !streams(desc) && forStreams:
		return errors.New("the method does not stream: its rule belongs to UnaryServerInterceptor")
	case desc.IsStreamingClient():
		return c.key.check(nil)
	}
	if forStreams {
		c.input = messageType(desc.Input())
	}
	return c.key.check(desc.Input())
}

func newCall(l *distlock.Locker, method string, r rule, forStreams bool) (*call, error) {
	desc, err := r.describe(method)
	if err != nil {
		return nil, err
	}
	if r.Key.params == nil {
		return nil, errors.New("Key is nil")
	}
	if !reflect.ValueOf(r.Opts.Params).IsZero() || r.Opts.ParamLock && (r.desc == nil || r.whole) { // FromOptions sets ParamLock
		return nil, errors.New("Opts.Params or Opts.ParamLock is set, but Key selects the parameters")
	}
	r.Opts.ParamLock = !r.whole
	if err := r.Opts.Validate(); err != nil {
		return nil, err
	}
	c := &call{method: method, key: r.Key}
	if err := c.fit(desc, forStreams); err != nil {
		return nil, err
	}
	c.site = wiring.Bind(l, r.Opts)
	return c, nil
}
