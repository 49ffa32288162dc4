package zklock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/driver"
)

// ephemeralNode is what Inspect and errors call an ephemeral node of another program.
const ephemeralNode = "ephemeral node"

// errEphemeral: another program has an ephemeral node at the path of the key's node.
// Such a node cannot have children.
var errEphemeral = fmt.Errorf("%w: %s", driver.ErrForeign, ephemeralNode)

var (
	errClosed        = fmt.Errorf("zklock: the Backend is closed (%w)", errors.ErrUnsupported)
	errNoAnswer      = errors.New("no answer")
	errNoSession     = errors.New("no session")
	errNoCredentials = errors.New("no credentials were given, see Config.User")
	errTurnedAway    = errors.New("the server began no session: it may have no majority, as in its read-only mode, or too many connections of this client, or data from before this program began")
)

// denied names the permission that a request lacks.
func denied(err error, permission, path string) error {
	if errors.Is(err, zk.ErrNoAuth) {
		return fmt.Errorf("no permission to %s %q: %w", permission, path, err)
	}
	return err
}

// serverError says at which server an operation failed, and why.
type serverError struct {
	addr  string // "" if it is not known
	err   error  // the error for the caller
	cause error  // the cause of err as its source reports it; nil if there is nothing to add
}

func (e *serverError) Error() string {
	text := e.err.Error()
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	if !strings.Contains(text, e.addr) {
		text = e.addr + ": " + text
	}
	return "zklock: " + strings.ReplaceAll(text, "\n", "; ") // a dialer may have joined its errors
}

// Unwrap omits the cause: a dialer's timeout would match the error of the caller's
// context.
func (e *serverError) Unwrap() error { return e.err }
