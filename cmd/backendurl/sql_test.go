package backendurl_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// exclude checks that the locks of two values are the same locks.
func exclude(t *testing.T, one, other string) {
	t.Helper()
	b, _ := connect(t, other)
	mustFind(t, one, b.Backend.(driver.Inspector), 1)
}

// refused checks that Open fails with one line that says want, and not because the value
// is invalid.
func refused(t *testing.T, rawURL, want string) {
	t.Helper()
	b, err := backendurl.Open(t.Context(), rawURL)
	if b != nil || err == nil || errors.Is(err, backendurl.ErrURL) {
		t.Errorf("%s: %v, %v", rawURL, b, err)
		return
	}
	if msg := err.Error(); !strings.Contains(msg, want) || strings.Contains(msg, "secret") || strings.Contains(msg, "\n") {
		t.Errorf("%s: %q, want one line with %q", rawURL, msg, want)
	}
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	s := sqltest.Postgres.Shared(t)
	db := s.NewDatabase(t)
	at := "postgres@" + s.Addr() + "/" + db
	for _, rawURL := range []string{
		"postgres://" + at, // creates the tables
		"POSTGRES://" + at + "?sslmode=disable&application_name=shop",
		"postgresql://postgres:not%40needed@127.0.0.1:" + "1," + s.Addr() + "/" + db + "?target_session_attrs=read-write",
		"postgres://" + at + "?default_query_exec_mode=exec",
	} {
		use(t, rawURL)
	}
	exclude(t, "postgres://"+at, "postgresql://"+at+"?sslmode=disable")

	// A user that may not create tables can use those that exist.
	s.Exec(t, db, "CREATE ROLE clerk"+db+" LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk"+db)
	clerk := "postgres://clerk" + db + ":secret@" + s.Addr() + "/"
	use(t, clerk+db)
	refused(t, clerk+s.NewDatabase(t), "permission denied")

	refused(t, "postgres://postgres:secret@"+s.Addr()+"/nowhere", `database "nowhere" does not exist`)
	refused(t, "postgres://postgres:secret@"+s.Addr()+"/"+db+"?sslmode=require", "TLS")
	s.Exec(t, db, "UPDATE distlock SET token = 99 WHERE lock_key = ''")
	refused(t, "postgres://"+at, "version 99")
	s.Exec(t, db, "DROP TABLE distlock; CREATE TABLE distlock (id int)")
	refused(t, "postgres://"+at, `"distlock"`)
}

func TestMySQL(t *testing.T) {
	t.Parallel()
	s := sqltest.MariaDB.Shared(t)
	db := s.NewDatabase(t)
	at := "root@" + s.Addr() + "/" + db
	use(t, "mysql://"+at) // creates the tables
	use(t, "MySQL://"+at)
	exclude(t, "mysql://"+at, "mysql://"+at)

	s.Exec(t, db, "CREATE USER "+db+" IDENTIFIED BY 'secret@2'; GRANT SELECT, INSERT, UPDATE, DELETE ON "+db+".* TO "+db)
	clerk := "mysql://" + db + ":secret%402@" + s.Addr() + "/"
	use(t, clerk+db)
	other := s.NewDatabase(t)
	s.Exec(t, db, "GRANT SELECT ON "+other+".* TO "+db)
	refused(t, clerk+other, "denied")

	refused(t, "mysql://root:secret@"+s.Addr()+"/"+db, "Access denied")
	refused(t, "mysql://root@"+s.Addr()+"/nowhere", "nowhere")
	refused(t, "mysql://"+at+"?tls=true", "TLS")
	s.Exec(t, db, "UPDATE distlock SET token = 99 WHERE lock_key = ''")
	refused(t, "mysql://"+at, "version 99")
}

// A server of another kind is not mistaken for the one that the scheme names.
func TestWrongServer(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	redis := listen(t)
	postgres := sqltest.Postgres.Shared(t).Addr()
	for _, rawURL := range []string{
		"postgres://postgres:secret@" + redis + "/db", "mysql://root:secret@" + redis + "/db", "etcd://" + redis,
		"mysql://root:secret@" + postgres + "/db", "etcd://" + postgres,
	} {
		refused(t, rawURL, "")
	}
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	testmode.InRealTime(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "a @ b%20#.db")
	use(t, "sqlite:"+file)
	use(t, "SQLite:"+file)
	exclude(t, "sqlite:"+file, "sqlite:"+file)
	if found, err := filepath.Glob(filepath.Join(dir, "a @ b%20#.db")); len(found) != 1 {
		t.Errorf("the files are %q, %v", found, err)
	}

	refused(t, "sqlite:"+filepath.Join(dir, "nowhere", "x.db"), "nowhere")
	refused(t, "sqlite:"+dir, "")
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, "sqlite:"+text, "not a database")
}
