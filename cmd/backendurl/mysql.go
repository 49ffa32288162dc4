package backendurl

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// mysqlPort is the default port.
const mysqlPort = "3306"

func openMySQL(ctx context.Context, rawURL string) (*Backend, error) {
	db, err := mysqlDB(rawURL)
	if err != nil {
		return nil, err
	}
	return openSQL(ctx, db, sqllock.MySQL)
}

// mysqlDB returns the pool of a URL. It does not connect.
func mysqlDB(rawURL string) (*sql.DB, error) {
	config, err := parseMySQL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	return sql.OpenDB(connector), nil
}

// parseMySQL parses a URL: the driver has another form.
func parseMySQL(rawURL string) (*mysql.Config, error) {
	u, err := parseHosts(rawURL, mysqlPort)
	if err != nil {
		return nil, err
	}
	if len(u.servers) > 1 {
		return nil, errors.New("want one host")
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.Logger = "tcp", u.servers[0], debugLogger("mysql")
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
	if u.user != nil {
		config.User = u.user.Username()
		config.Passwd, _ = u.user.Password()
		if strings.ContainsRune(config.User, 0) {
			return nil, errors.New("the user has a zero byte")
		}
	}
	return config, nil
}
