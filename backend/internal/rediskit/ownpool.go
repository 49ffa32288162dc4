package rediskit

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// OwnPool is a small pool of connections of a Backend's own, beside the user's
// client. An application may use up the pool of its client, for example with blocking
// commands. Renewals that wait for such a pool come too late.
//
// The connections are made with the options of the client: address, dialer, TLS,
// credentials, database, name, OnConnect. They are made when they are needed. They have
// neither the hooks and the Limiter of the client, nor its cache and its maintenance
// notifications. A command that gets no connection within half of its time goes through
// the client of the user.
//
// The package comment of redislock says under Connections what this means for each type of
// client. A [redis.Ring] has no pool. Two Rings may disagree for a while about the servers
// that are up, and so about the server of a key.
//
// An OwnPool is safe for concurrent use.
type OwnPool struct {
	user    redis.UniversalClient
	size    int
	timeout time.Duration
	sleepy  atomic.Bool // see Eager

	ended context.Context //nolint:containedctx // of connections that are being made
	end   context.CancelFunc

	mu     sync.Mutex
	client redis.UniversalClient // nil before the first use
	pool   io.Closer             // nil if there is none
}

// NewOwnPool returns an OwnPool of up to size connections to each server, beside those
// of the client; if size is zero, of as many as the client may have. timeout limits an
// operation.
func NewOwnPool(client redis.UniversalClient, size int, timeout time.Duration) *OwnPool {
	ended, end := context.WithCancel(context.Background()) //nolint:forbidigo // it outlives all callers
	return &OwnPool{user: client, size: size, timeout: timeout, ended: ended, end: end}
}

// Client returns a client that uses the pool, or the client of the user if there is no
// pool. It is for [Cmd] and for pipelines of them. The caller must not close it.
func (p *OwnPool) Client() redis.UniversalClient {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client == nil {
		p.client = p.open()
	}
	return p.client
}

// Short returns a client that uses the pool, with another timeout for a command and
// without the detour: what gets no connection fails. It calls no function of the user,
// which might block: if there is one for a new connection, only [OwnPool.Client] makes
// connections. Short returns nil unless the pool is one for a single server.
func (p *OwnPool) Short(timeout time.Duration) *redis.Client {
	c, ok := p.Client().(*redis.Client)
	if !ok {
		return nil
	}
	c = c.WithTimeout(timeout)
	o := c.Options() // of c alone
	if o.OnConnect != nil || o.CredentialsProvider != nil || o.CredentialsProviderContext != nil || o.StreamingCredentialsProvider != nil {
		o.StreamingCredentialsProvider = nil
		o.CredentialsProviderContext = func(context.Context) (string, string, error) { return "", "", errNotHere }
	}
	return c
}

var errNotHere = errors.New("a new connection is not made here")

// Eager sets whether connections may ask for answers again and again for a short time
// before they sleep, as they do at first. They should not while another process waits
// for what is sent: it may need the processor.
func (p *OwnPool) Eager(ok bool) {
	if p.sleepy.Load() == ok {
		p.sleepy.Store(!ok)
	}
}

// Close closes the connections. After that commands go through the client of the user,
// which must be closed later.
func (p *OwnPool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client = p.other()
	p.end()
	if p.pool == nil {
		return nil
	}
	err := p.pool.Close()
	p.pool = nil
	return err
}

func (p *OwnPool) open() redis.UniversalClient {
	switch c := p.user.(type) {
	case *redis.Client:
		o := *c.WithTimeout(p.timeout).Options() // a copy
		p.configure(&o)
		own := redis.NewClient(&o)
		p.use(own).AddHook(fresh{})
		return own
	case *redis.ClusterClient:
		o := *c.Options()
		newClient := o.NewClient
		o.NewClient = func(o *redis.Options) *redis.Client {
			p.configure(o)
			c := newClient(o)
			c.AddHook(fresh{})
			return c
		}
		if o.ClusterSlots != nil { // from Sentinels, for example
			o.ClusterStateReloadInterval = chosenFor
		}
		o.PushNotificationProcessor, o.MaintNotificationsConfig = nil, noNotifications()
		return p.use(redis.NewClusterClient(&o))
	default:
		return p.user
	}
}

func (p *OwnPool) use(own redis.UniversalClient) redis.UniversalClient {
	own.AddHook(&detour{limit: p.timeout / 2, other: p.other()})
	p.pool = own
	return own
}

// other returns the client that takes the place of the pool. Abandoned operations end
// soon.
func (p *OwnPool) other() redis.UniversalClient { return guarded(p.user, p.timeout) }

// guarded returns a client of one server with this timeout, and with guarded functions. Any
// other client is returned as it is.
func guarded(client redis.UniversalClient, timeout time.Duration) redis.UniversalClient {
	c, ok := client.(*redis.Client)
	if !ok {
		return client
	}
	c = c.WithTimeout(timeout)
	guard(c.Options())
	return c
}

// dialFactor is how many times the operation timeout a connection may take: TLS and
// the login need more round trips than an operation.
const dialFactor = 4

// configure gives the options of the user's client the values of the pool.
func (p *OwnPool) configure(o *redis.Options) {
	if p.size > 0 {
		o.PoolSize = p.size
	}
	guard(o)
	o.MaxIdleConns, o.MinIdleConns = o.PoolSize, 0
	o.MaxActiveConns, o.MaxConcurrentDials = 0, 0
	o.PipelinePoolSize, o.PipelineReadBufferSize, o.PipelineWriteBufferSize = -1, 0, 0 // no more connections
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout = dialFactor * p.timeout
	o.PoolTimeout, o.ReadTimeout, o.WriteTimeout = p.timeout, p.timeout, p.timeout
	o.ContextTimeoutEnabled = false // the context limits the wait for a connection only
	dial := o.Dialer
	if dial == nil {
		dial = redis.NewDialer(o)
	}
	all := &neighbours{began: time.Now(), patience: p.timeout / 4}
	if o.Addr == "FailoverClient" { // as go-redis calls it
		all.chosen = &chosen{
			dial: func(ctx context.Context) (_ net.Conn, err error) {
				defer Recover(&err)
				return dial(ctx, "tcp", "")
			},
			ended: p.ended, patience: all.patience, limit: dialFactor / 2 * p.timeout,
		}
		context.AfterFunc(p.ended, func() { all.chosen.keep(nil, time.Time{}) })
	}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stop := context.AfterFunc(p.ended, cancel)
		defer stop()
		c := &probed{all: all}
		var err error
		if all.chosen != nil {
			c.Conn, c.born, err = all.chosen.connect(ctx)
		} else {
			c.Conn, err = dial(ctx, network, addr)
		}
		if err != nil {
			return nil, err
		}
		return eager(c.Conn, c, &p.sleepy), nil
	}
	o.Limiter = nil
	o.ClientSideCache, o.ClientSideCacheConfig = nil, nil
	o.PushNotificationProcessor, o.MaintNotificationsConfig = nil, noNotifications()
}

func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
