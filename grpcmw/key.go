package grpcmw

import (
	"context"
	"slices"
	"strconv"

	"github.com/distlock-go/distlock"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Key says what a call locks. [Fields], [Metadata], [Method] and [Params] return one;
// [KeyFunc] is for everything else.
type Key interface {
	// Params returns the parameters of the key, of any type that [distlock.Opts]
	// takes, or [distlock.Skip] if the call needs no lock. Parameters that are nil, ""
	// or an empty list are refused, and so is a list with such an element.
	//
	// An error that wraps [distlock.ErrKey] says that the call is at fault, and becomes
	// InvalidArgument; a [*distlock.KeyError] tells the client why. An error with a
	// status of its own is returned unchanged, and others become Internal, unless they
	// have another code: see [distlock.CodeOf].
	//
	// req is the request message. It must not be changed or kept. For a stream it is
	// nil if the client streams, or if the service is not linked into the program. The
	// method is called concurrently, once for each call, before the lock is taken. It
	// may block until ctx ends.
	Params(ctx context.Context, fullMethod string, req any) (any, error)
}

// KeyFunc is a function as a [Key].
type KeyFunc func(ctx context.Context, fullMethod string, req any) (any, error)

// Params calls f.
func (f KeyFunc) Params(ctx context.Context, fullMethod string, req any) (any, error) {
	return f(ctx, fullMethod, req)
}

// Method returns a Key that is the full name of the method: all its calls share one
// lock.
func Method() Key { return methodKey{} }

type methodKey struct{}

func (methodKey) Params(_ context.Context, fullMethod string, _ any) (any, error) {
	return fullMethod, nil
}

func (methodKey) check(protoreflect.MessageDescriptor) error { return nil }

// Params returns a Key of several parts, a []any of the results of the keys in their
// order: Params(Metadata("tenant"), Fields("order_id")). They are called one after the
// other, and the first error or [distlock.Skip] is the result for all. Params panics if
// there are no keys or one is nil.
func Params(keys ...Key) Key {
	if len(keys) == 0 {
		panic("grpcmw: Params: no Key")
	}
	for i, k := range keys {
		if k == nil || isNil(k) {
			panic("grpcmw: Params: Key " + strconv.Itoa(i) + " is nil")
		}
	}
	return keyList(slices.Clone(keys))
}

type keyList []Key

func (l keyList) Params(ctx context.Context, fullMethod string, req any) (any, error) {
	parts := make([]any, len(l))
	for i, k := range l {
		v, err := k.Params(ctx, fullMethod, req)
		if err != nil || v == distlock.Skip {
			return v, err
		}
		parts[i] = v
	}
	return parts, nil
}

func (l keyList) check(d protoreflect.MessageDescriptor) error {
	for _, k := range l {
		if err := checkKey(k, d); err != nil {
			return err
		}
	}
	return nil
}

// knownKey is a Key of this package, which can be checked before there is a call.
type knownKey interface {
	Key

	// check reports why the key can never be made for a method that takes a
	// message of type d; nil means that there is no one message.
	check(d protoreflect.MessageDescriptor) error
}

var (
	_ Key      = KeyFunc(nil)
	_ knownKey = (*fields)(nil)
	_ knownKey = metadataKey{}
	_ knownKey = methodKey{}
	_ knownKey = keyList(nil)
)

func checkKey(k Key, d protoreflect.MessageDescriptor) error {
	if known, ok := k.(knownKey); ok {
		return known.check(d)
	}
	return nil // a KeyFunc: not known before a call
}
