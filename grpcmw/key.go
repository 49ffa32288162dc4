package grpcmw

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/distlock-go/distlock/internal/request"
)

// Key says what a call locks. [Fields], [Metadata], [Method] and [Params] return one;
// [KeyFunc] is for everything else.
type Key struct {
	params func(ctx context.Context, fullMethod string, req any) (any, error)

	// check reports why the key can never be made for a method that takes a message of
	// type d; nil means that there is no one message.
	check func(d protoreflect.MessageDescriptor) error
}

// KeyFunc returns the Key that f makes. f returns the parameters of the key, of any type
// that [distlock.Opts] takes, or [distlock.Skip] if the call needs no lock. Parameters
// that are nil, "" or an empty list are refused, and so is a list with such an element.
//
// An error that wraps [distlock.ErrKey] says that the call is at fault, and becomes
// InvalidArgument; a [*distlock.KeyError] tells the client why. An error with a
// status of its own is returned unchanged, and others become Internal, unless they
// have another code: see [distlock.CodeOf].
//
// req is the request message. It must not be changed or kept. For a stream it is
// nil if the client streams, or if the service is not linked into the program. f is
// called concurrently, once for each call, before the lock is taken. It may block until
// ctx ends.
func KeyFunc(f func(ctx context.Context, fullMethod string, req any) (any, error)) Key {
	return Key{f, func(protoreflect.MessageDescriptor) error { return nil }} // not known before a call
}

// Params returns the parameters of the key for a call.
func (k Key) Params(ctx context.Context, fullMethod string, req any) (any, error) {
	return k.params(ctx, fullMethod, req)
}

// Method returns a Key that is the full name of the method: all its calls share one
// lock.
func Method() Key {
	return KeyFunc(func(_ context.Context, fullMethod string, _ any) (any, error) { return fullMethod, nil })
}

// Params returns a Key of several parts, a []any of the results of the keys in their
// order: Params(Metadata("tenant"), Fields("order_id")). They are called one after the
// other, and the first error or [distlock.Skip] is the result for all. Params panics if
// there are no keys or one is the zero Key.
func Params(keys ...Key) Key {
	if len(keys) == 0 {
		panic("grpcmw: Params: no Key")
	}
	for i, k := range keys {
		if k.params == nil {
			panic("grpcmw: Params: Key " + strconv.Itoa(i) + " is nil")
		}
	}
	keys = slices.Clone(keys)
	return Key{func(ctx context.Context, fullMethod string, req any) (any, error) {
		return request.Parts(len(keys), func(i int) (any, error) { return keys[i].params(ctx, fullMethod, req) })
	}, func(d protoreflect.MessageDescriptor) error {
		for _, k := range keys {
			if err := k.check(d); err != nil {
				return err
			}
		}
		return nil
	}}
}

// Metadata returns a Key that is a value of the call's metadata, a string. A value that is
// missing, empty or appears more than once is a [*distlock.KeyError]. Names have no case.
//
// Callers choose their metadata. To separate tenants, take the tenant from the
// authentication instead, with a [KeyFunc]. Metadata panics if name is empty.
func Metadata(name string) Key {
	if name == "" {
		panic("grpcmw: Metadata: empty name")
	}
	name = strings.ToLower(name)
	return KeyFunc(func(ctx context.Context, _ string, _ any) (any, error) {
		return request.Single("metadata "+strconv.Quote(name), metadata.ValueFromIncomingContext(ctx, name))
	})
}
