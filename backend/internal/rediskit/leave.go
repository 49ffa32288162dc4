package rediskit

import (
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// leaveEvery is the least time between two connections that a [Server] ends: a server
// that is busy or full must not get a new connection with each request.
const leaveEvery = 100 * time.Millisecond

// ofKeys are the first words of errors that are about a key, a script or a request. All
// other errors are about the server or the connection. That the user may not do
// something is counted here: what a server permits changes for the connections that
// exist, too.
//
// READONLY is about the server, but go-redis closes the connection by itself then.
const ofKeys = " WRONGTYPE NOPERM CROSSSLOT NOSCRIPT MOVED ASK TRYAGAIN READONLY FOREIGN GONE NOLOCK BADCLOCK BADTOKEN "

// Leave ends a connection of the client to the server of the key, in the background, if
// err is what the server has answered about itself, such as LOADING, MASTERDOWN or
// NOREPLICAS. The address may lead to another server by now, for example to the new
// master behind a proxy or a name, and the old server keeps its connections. go-redis
// alone uses them for ever.
//
// The client would use this connection next. The key says which server
// of a Cluster or a Ring it is; without a key, none of their connections is ended.
func (s *Server) Leave(client redis.UniversalClient, key string, err error) {
	if err == nil {
		return
	}
	var reply redis.Error
	if FateOf(err) != Replied || !errors.As(err, &reply) || errors.Is(err, redis.Nil) {
		return
	}
	if code, _, _ := strings.Cut(reply.Error(), " "); strings.Contains(ofKeys, " "+code+" ") {
		return
	}
	switch client.(type) {
	case *redis.ClusterClient, *redis.Ring:
		if key == "" {
			return
		}
	}
	s.mu.Lock()
	now := time.Now()
	due := now.Sub(s.left) >= leaveEvery
	if due {
		s.left = now
	}
	s.mu.Unlock()
	if due {
		run(s.background, func() {
			c := unwritable{redis.NewCmd(s.background, "evalsha", unwritableArg{}, 1, key)}
			c.SetFirstKeyPos(3)
			_ = client.Process(s.background, c)
		})
	}
}

// unwritable is a command that cannot be written. go-redis closes the connection that
// it has taken for it, because the server may have received a part.
type unwritable struct{ *redis.Cmd }

func (unwritable) NoRetry() bool { return true }

type unwritableArg struct{}

var errLeft = errors.New("this connection is closed, because its server refuses")

func (unwritableArg) MarshalBinary() ([]byte, error) { return nil, errLeft }
