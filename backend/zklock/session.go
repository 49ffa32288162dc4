package zklock

import (
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
)

// session is a session with the servers. Ephemeral nodes belong to a session and are
// deleted when it ends.
type session struct {
	placequeue.Session

	id      int64
	timeout time.Duration // as agreed with the server
}

// maxLease returns how long a lease may be so that it ends before the session can end.
// The lease begins when a request is sent that the server then confirms.
//
// The leader ends a session some time after its last sign of life. A sign of life that
// reaches a follower gets to the leader with the follower's next answer to a ping, at
// most half a tick later. If the follower dies before that, the last sign of life that
// the leader knows is the one before the request. It is at most a third of the timeout
// older, because the client pings that often. So after the request the session lasts
// for at least timeout - timeout/3 - tick/2. That is at least half of the timeout if
// the timeout is three ticks or more.
func (s *session) maxLease() time.Duration { return s.timeout / 2 }
