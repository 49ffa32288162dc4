package backendurl_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/sqltest"
)

// Like psql, ParsePostgres takes what the URL does not say from the environment.
func TestPostgresEnvironment(t *testing.T) {
	t.Setenv("PGPASSWORD", "secret")
	t.Setenv("PGHOST", "other")
	c, err := backendurl.ParsePostgres("postgres://user@h,[::1]:2/db%20?sslmode=disable&application_name=shop")
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "h" || c.Port != 5432 || c.User != "user" || c.Password != "secret" || c.Database != "db " ||
		c.RuntimeParams["application_name"] != "shop" || len(c.Fallbacks) != 1 || c.Fallbacks[0].Host != "::1" || c.Fallbacks[0].Port != 2 {
		t.Errorf("%+v", c)
	}
	for rawURL, validates := range map[string]bool{
		"postgres://h,i/db": true, "postgres://h/db": false, "postgres://h,i/db?target_session_attrs=any": false,
	} {
		if c, err := backendurl.ParsePostgres(rawURL); err != nil || (c.ValidateConnect != nil) != validates {
			t.Errorf("%s asks for the primary: %v, want %v: %v", rawURL, !validates, validates, err)
		}
	}

	t.Setenv("PGSSLMODE", "`secure`")
	if _, err := backendurl.ParsePostgres("postgres://user:pw@h/db"); err == nil || !strings.Contains(err.Error(), "sslmode") ||
		strings.Contains(err.Error(), "user") {
		t.Errorf("with a bad mode: %v", err)
	}
}

// What the URL does not say is read again for each connection: a password in .pgpass, a
// certificate, and here the user.
func TestPostgresReadsAgain(t *testing.T) {
	s := sqltest.Postgres.Shared(t)
	name := s.NewDatabase(t)
	s.Exec(t, name, "CREATE ROLE rotated LOGIN")
	store, _ := connect(t, strings.Replace(s.URL(name), "postgres@", "", 1))
	db, _ := store.Client.(*sql.DB)
	for _, want := range []string{"postgres", "rotated"} {
		t.Setenv("PGUSER", want)
		db.SetMaxIdleConns(-1) // the next query has a new connection
		var got string
		if err := db.QueryRowContext(t.Context(), "SELECT current_user").Scan(&got); err != nil || got != want {
			t.Errorf("the user is %q, want %q: %v", got, want, err)
		}
	}
}
