package backendurl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
)

// zkTimeout is the only parameter of a ZooKeeper URL: how long the servers keep the
// locks of a process that was killed.
const zkTimeout = "session_timeout"

func connectZooKeeper(_ context.Context, u *hostURL) (*Backend, error) {
	config := zklock.Config{Root: strings.TrimSuffix(u.path, "/") + zklock.DefaultRoot}
	if user := u.user.Username(); strings.ContainsRune(user, ':') {
		return nil, invalid(errors.New("the user has a colon, which ZooKeeper does not allow"))
	} else if user != "" {
		config.User, config.Password = user, u.password()
	}
	if value, ok := u.parameter(zkTimeout); ok {
		d, err := time.ParseDuration(value)
		if err != nil || d == 0 {
			return nil, invalid(fmt.Errorf("%s is %q: want a time such as 6s", zkTimeout, value))
		}
		config.SessionTimeout = d
	}
	b, err := zklock.New(u.servers, config)
	if err != nil {
		return nil, invalid(err)
	}
	return &Backend{Backend: b, reach: func(ctx context.Context) error { return reachZooKeeper(ctx, b) }, end: b.(io.Closer).Close}, nil
}

// reachZooKeeper asks for an answer from a server with a majority. A server that does
// not answer costs a second before the client tries the next one, so a single failure
// does not mean much.
func reachZooKeeper(ctx context.Context, b driver.Backend) error {
	reach, cancel := context.WithTimeout(ctx, ReachTimeout)
	defer cancel()
	for {
		_, err := b.(driver.Inspector).Inspect(reach, "", 0) // an empty prefix and a limit of 0: no keys are read
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNoAuth): // an answer, too
			return fmt.Errorf("%w: the nodes belong to another user", err)
		}
		if !clock.Sleep(reach, retryPause) {
			return fmt.Errorf("no answer within %v: %w", ReachTimeout, err)
		}
	}
}

// retryPause is for errors that come at once.
const retryPause = 50 * time.Millisecond
