package grpcmw

import (
	"context"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
	"google.golang.org/grpc/metadata"
)

// Metadata returns a Key that is a value of the call's metadata, a string: of incoming
// metadata on a server, of outgoing metadata on a client. A value that is missing,
// empty or appears more than once is a [*distlock.KeyError]. Names have no case.
//
// Callers choose their metadata. To separate tenants, take the tenant from the
// authentication instead, with a [KeyFunc]. Metadata panics if name is empty.
func Metadata(name string) Key {
	if name == "" {
		panic("grpcmw: Metadata: empty name")
	}
	name = strings.ToLower(name)
	return KeyFunc(func(ctx context.Context, _ string, _ any) (any, error) {
		values := metadataValues(ctx, name)
		var fault string
		switch {
		case len(values) > 1: // which of them the handler takes is unknown
			fault = "appears more than once"
		case len(values) == 0 || values[0] == "":
			fault = "is missing or empty"
		default:
			return values[0], nil
		}
		return nil, &distlock.KeyError{Detail: "metadata " + strconv.Quote(name) + " " + fault}
	})
}

func metadataValues(ctx context.Context, name string) []string {
	if ctx.Value(outgoing{}) == nil {
		return metadata.ValueFromIncomingContext(ctx, name)
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	return md.Get(name)
}

// outgoing marks the context in which a client makes its keys. Inside a handler the
// context has metadata of both directions.
type outgoing struct{}
