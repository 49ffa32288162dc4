package backendurl

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/distlock-go/distlock/backend/sqllock"
)

func connectMySQL(_ context.Context, u *hostURL) (*Backend, error) {
	config, err := parseMySQL(u)
	if err != nil {
		return nil, invalid(err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, invalid(err)
	}
	b, err := connectSQL(sql.OpenDB(connector), sqllock.MySQL)
	if err != nil {
		return nil, err
	}
	b.Servers, b.Password, b.TLS = u.servers, config.Passwd != "", config.TLS != nil
	return b, nil
}

// parseMySQL returns the configuration of the driver, which has another form of URLs.
func parseMySQL(u *hostURL) (*mysql.Config, error) {
	if len(u.servers) > 1 {
		return nil, errOneHost
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.Logger = "tcp", u.servers[0], debugLogger("mysql")
	var err error
	if config.DBName, err = u.database(); err != nil {
		return nil, err
	}
	if config.DBName == "" {
		return nil, errors.New("the database is missing: want mysql://host:port/db")
	}
	if err := u.onlyParameters(tlsParameter); err != nil {
		return nil, err
	}
	if config.TLS, err = u.tls(); err != nil {
		return nil, err
	}
	if config.User, config.Passwd, err = u.login(); err != nil {
		return nil, err
	}
	if strings.ContainsRune(config.User, 0) {
		return nil, errors.New("the user has a zero byte")
	}
	return config, nil
}
