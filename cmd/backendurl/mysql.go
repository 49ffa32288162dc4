package backendurl

import (
	"context"
	"database/sql"
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/distlock-go/distlock/backend/sqllock"
)

func connectMySQL(_ context.Context, u *hostURL) (*Backend, error) {
	if u.name() == "" {
		return nil, invalid(errors.New("the database is missing: want mysql://host:port/db"))
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.Logger = "tcp", u.servers[0], &mysql.NopLogger{}
	config.RejectReadOnly = true // the address may lead to another server by now
	config.DBName, config.User, config.Passwd, config.TLS = u.name(), u.user.Username(), u.password(), u.tls
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, invalid(err)
	}
	return connectSQL(sql.OpenDB(connector), sqllock.MySQL, sqllock.Config{})
}
