package etcdlock

import (
	"context"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// auth is the Auth of a client that logs in again when its token has ended.
//
// The client sends the old token along with its login. Servers before 3.5 refuse the
// login because of that token. The client then logs in for the sake of the refused
// login, and so on without end; 3.7.3 does. The login within a login therefore fails as
// if the servers had no users, which makes the client forget the token and repeat the
// first one.
type auth struct{ clientv3.Auth }

type loginKey struct{}

func (a auth) Authenticate(ctx context.Context, name, password string) (*clientv3.AuthenticateResponse, error) {
	if ctx.Value(loginKey{}) != nil {
		return nil, rpctypes.ErrAuthNotEnabled
	}
	return a.Auth.Authenticate(context.WithValue(ctx, loginKey{}, true), name, password)
}

// mendLogin makes a client with a user log in again when its token has ended.
func mendLogin(c *clientv3.Client) {
	if _, mended := c.Auth.(auth); c.Username != "" && !mended {
		c.Auth = auth{c.Auth}
	}
}
