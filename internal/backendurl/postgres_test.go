package backendurl_test

import (
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/backendurl"
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

	t.Setenv("PGSSLMODE", "`secure`")
	if _, err := backendurl.ParsePostgres("postgres://user:pw@h/db"); err == nil || !strings.Contains(err.Error(), "sslmode") ||
		strings.Contains(err.Error(), "user") {
		t.Errorf("with a bad mode: %v", err)
	}
}
