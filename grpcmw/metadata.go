package grpcmw

import (
	"context"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock"
	"google.golang.org/grpc/metadata"
)

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
		values := metadata.ValueFromIncomingContext(ctx, name)
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
