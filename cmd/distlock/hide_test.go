package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// No form of an address, wherever it is on the command line, shows a password.
func TestPasswordsAreHidden(t *testing.T) {
	const secret = "hunter2"
	for _, address := range []string{
		"redis://user:hunter2@127.0.0.1:1/0", "redis://hunter2@127.0.0.1:1", "redis://user:hunter2", "redis://:hunter2@[::1", "redis:hunter2@h",
		"redis://user:hunter2%zz@127.0.0.1:1", "redis://user:hunter2@127.0.0.1:1?db=x", "redis://127.0.0.1:1?password=hunter2",
		"redis+sentinel://:hunter2@127.0.0.1:1/master?sentinel_password=hunter2", "hunter2://127.0.0.1", "user:hunter2@127.0.0.1:1",
		"host=127.0.0.1 port=1 user=u password=hunter2", "host=127.0.0.1 password='hunter2' dbname=d", "postgres://host=127.0.0.1 password=hunter2",
		"postgres://127.0.0.1:1/db?user=u&password=hunter2", "postgres://u@127.0.0.1:1/db?sslpassword=hunter2", "postgres://127.0.0.1:1/db password=hunter2",
		"mysql://user:hunter2@tcp(127.0.0.1:1)/db", "user:hunter2@tcp(127.0.0.1:1)/db", "user:hunter2@/db", "mysql://user:hunter2@127.0.0.1:1/db",
		"etcd://user:hunter2@127.0.0.1:1?tls=x", "etcd://user:hunter2,127.0.0.1:1", "zk://user:hunter2@127.0.0.1:1/a?session_timeout=x", "zk://hunter2@127.0.0.1:1",
		"sqlite:x.db?_pragma=key('hunter2')", "sqlite:///x.db?key=hunter2", "sqlite://user:hunter2@h/x.db",
	} {
		for _, args := range [][]string{
			{"ls"}, {"run", "-key", "k", "-wait", "0", "--", "true"}, {"doctor"}, {"release", "-force", "-key", "k"}, {"ls", "-help"},
			{"ls", address}, {address}, {"-backend", address, "ls"}, {"ls", "-bakend=" + address}, {"ls", "-timeout", address}, {"run", "-key", "k", address},
			{"run", "-key", "k", "--", address},
		} {
			t.Setenv(backendEnv, address)
			t.Setenv("PGPASSWORD", secret)
			var out strings.Builder
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			execute(ctx, append([]string{"distlock"}, args...), io.Writer(&out), &out)
			cancel()
			if strings.Contains(out.String(), secret) || out.Len() == 0 {
				t.Errorf("DISTLOCK_BACKEND=%s distlock %q printed %q", address, args, out.String())
			}
		}
	}
}

// What a server or a client says about the store goes through the same place.
func TestHider(t *testing.T) {
	t.Setenv(backendEnv, "redis://user:p%40ssword@h:1/0")
	t.Setenv("PGPASSWORD", "oPen")
	var out strings.Builder
	h := newHider(&out, []string{"distlock", "-key", "shop:pay:42", "-backend=mysql://user:hunter2@h/db"})
	if _, err := h.Write([]byte("ERR unknown command 'HELLO' '3' 'AUTH' 'user' 'p@ssword' p%40ssword hunter2 oPen shop:pay:42\n")); err != nil {
		t.Fatal(err)
	}
	if want := "ERR unknown command 'HELLO' '3' 'AUTH' 'user' 'xxxxx' xxxxx xxxxx xxxxx shop:pay:42\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
