package torture

import (
	"context"
	"database/sql"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/backend/sqllock/pglisten"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
)

// backends are all backends that can be tortured.
var backends = []string{"redislock", "redlock", "zklock", "sqllock", "sqllock-mariadb", "etcdlock", "etcdlock-cluster", "natslock"}

// open returns the backend, and a function that closes its clients.
func (k *kid) open() (driver.Backend, func(), error) {
	switch k.Backend {
	case "redislock", "redlock":
		return k.openRedis()
	case "zklock":
		b, err := zklock.New(k.Addrs, zklock.Config{SessionTimeout: 2 * longestLease, Dialer: k.network.DialTimeout})
		return b, func() {}, err
	case "sqllock":
		return k.openPostgres()
	case "sqllock-mariadb":
		return k.openMariaDB()
	case "natslock":
		return openNATS(k.Addrs, k.network)
	default:
		return k.openEtcd()
	}
}

func (k *kid) openRedis() (driver.Backend, func(), error) {
	var clients []redis.UniversalClient
	for _, addr := range k.Addrs {
		clients = append(clients, redis.NewClient(&redis.Options{Addr: addr, Dialer: k.network.DialContext}))
	}
	closeClients := func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}
	if k.Backend == "redislock" {
		return redislock.New(clients[0], redislock.Config{}), closeClients, nil
	}
	return redlock.New(clients, redlock.Config{TrustedStart: true, Tokens: true, MaxLease: longestLease, NodeTimeout: 200 * time.Millisecond}), closeClients, nil
}

func (k *kid) openPostgres() (driver.Backend, func(), error) {
	c, err := pgx.ParseConfig(k.Addrs[0])
	if err != nil {
		return nil, nil, err
	}
	c.DialFunc = k.network.DialContext
	db := stdlib.OpenDB(*c)
	db.SetMaxOpenConns(4 * k.Number) // the first process has no limit
	var config sqllock.Config
	if k.Number > 0 { // nor does it hear or tell anything
		config.Listener = pglisten.New(c)
	}
	b, err := sqllock.New(db, sqllock.Postgres, config)
	return b, func() { _ = db.Close() }, err
}

func (k *kid) openMariaDB() (driver.Backend, func(), error) {
	c, err := mysql.ParseDSN(k.Addrs[0])
	if err != nil {
		return nil, nil, err
	}
	c.DialFunc = k.network.DialContext
	c.Logger = new(mysql.NopLogger)
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(4 * k.Number) // the first process has no limit
	b, err := sqllock.New(db, sqllock.MySQL, sqllock.Config{})
	return b, func() { _ = db.Close() }, err
}

func (k *kid) openEtcd() (driver.Backend, func(), error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: k.Addrs, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return k.network.DialContext(ctx, "tcp", addr)
		})},
	})
	if err != nil {
		return nil, nil, err
	}
	b, err := etcdlock.New(client, etcdlock.Config{SessionTTL: 2 * longestLease})
	return b, func() { _ = client.Close() }, err
}
