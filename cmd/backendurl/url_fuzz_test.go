package backendurl_test

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/distlock-go/distlock/cmd/backendurl"
)

// mustBeSaid checks that Open refuses an invalid URL with one line that is safe to
// show.
func mustBeSaid(t *testing.T, rawURL string) string {
	t.Helper()
	b, err := backendurl.Open(t.Context(), rawURL)
	if b != nil || !errors.Is(err, backendurl.ErrURL) {
		t.Fatalf("%q: %v, %v", rawURL, b, err)
	}
	msg := err.Error()
	if strings.ContainsFunc(msg, unicode.IsControl) {
		t.Errorf("%q: %q is not one line", rawURL, msg)
	}
	return msg
}

// mustBeServers checks the addresses that the client would dial.
func mustBeServers(t *testing.T, rawURL string, servers []string) {
	t.Helper()
	if len(servers) == 0 {
		t.Errorf("%q: no server", rawURL)
	}
	for _, s := range servers {
		_, port, err := net.SplitHostPort(s)
		if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
			t.Errorf("%q: would dial %q", rawURL, s)
		}
	}
}

// FuzzURL checks that each value is accepted, or refused with one line. An accepted
// value names only addresses that can be dialled.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"redis://h:1/0", "rediss://u:p@h:1/0?pool_size=2", "zk://u:p@h:1,[::1]:2/a?session_timeout=5s", "zk://h", "redis://",
		"redis://h:1/a%0Ab/c", "zk://h:1/a%00b", "zk://h:1?session_timeout=5%0As", "zk://h%0a:1", "redis://h:1/%0A", "redis://h:1/0?x%0A=1",
		"redis://h:99999/0", "redis://:0", "redis://[::1/0", "zk://h:1?a;b", "zk://h:1?session_timeout", "redis://h:1/0?dial_timeout=%0A",
		"postgres://u:p@h:1,[::1]:2/db?sslmode=disable", "postgresql://h", "postgres://h:1/a%0Ab?sslmode=%0A", "postgres://h:1/?application_name=%00",
		"postgres://h:1/a`b?sslmode=`: x", "postgres://%2Ftmp/db", "mysql://u:p@h:1/db?tls=true", "mysql://h/a%0Ab?tls=%0A", "mysql://(h)/db",
		"sqlite:x.db", "sqlite:a\nb", "SQLITE:x@y", "etcd://u:p@h:1,[::1]:2/a?tls=skip-verify", "etcd://h/a%0Ab", "etcd://h:1?tls=%0A",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rawURL string) {
		parsed, err := backendurl.Parse(rawURL)
		_ = backendurl.Name(rawURL)
		isFile := strings.HasPrefix(strings.ToLower(rawURL), "sqlite:")
		switch {
		case err != nil:
			mustBeSaid(t, rawURL)
		case isFile && parsed.Place == "":
			t.Errorf("%q: no file", rawURL)
		case !isFile:
			mustBeServers(t, rawURL, parsed.Servers)
		}
	})
}

// secret is part of every user and password that FuzzPassword makes.
const secret = "hunter2"

// FuzzPassword puts a secret into the user or the password, next to characters that
// need encoding, and looks for the secret in everything that is shown.
func FuzzPassword(f *testing.F) {
	f.Add("redis", "user:", "", "h:1/0")
	f.Add("redis", "user:p@", "/x", "h:1/0/1")
	f.Add("rediss", ":", "%zz", "h:port")
	f.Add("zk", "a:", "?#", "h:1,i:2/a")
	f.Add("zk", "", ":x", "h:1/@")
	f.Add("redis", "/", "", "h:1/0?x=1")
	f.Add("redis", "[", "]", "h:1/0")
	f.Add("x", "//", "://", "h:1")
	f.Add("postgres", "user:", "%00", "h:1,i:2/db")
	f.Add("postgresql", "", "", "h:1/db?sslmode=`: x")
	f.Add("postgres", "`: ", "", "h:1/db?sslmode=x")
	f.Add("mysql", "user:", "", "h:1,i:2/db")
	f.Add("mysql", "", "@tcp(", "h:1)/db")
	f.Add("sqlite", "", "", "x.db")
	f.Add("etcd", "user:", "", "h:1,i:2/a?tls=x")
	f.Add("redis", "user:", "@h:1/0?", "h:1/0?db=x")
	f.Fuzz(func(t *testing.T, scheme, before, after, rest string) {
		if strings.Contains(scheme+rest, secret) || strings.ContainsAny(scheme, ":/@") {
			return
		}
		rawURL := scheme + "://" + before + secret + after + "@" + rest
		shown := []string{backendurl.Redact(rawURL), backendurl.Name(rawURL)}
		parsed, err := backendurl.Parse(rawURL)
		if err != nil {
			shown = append(shown, err.Error(), mustBeSaid(t, rawURL))
		} else {
			mustBeServers(t, rawURL, parsed.Servers)
			shown = append(shown, parsed.Servers...) // network errors contain the addresses
		}
		for _, text := range shown {
			if strings.Contains(text, secret) {
				t.Errorf("%q: %q shows the secret", rawURL, text)
			}
		}
	})
}

// FuzzEncodedPassword checks that a user and a password with correct encoding arrive
// unchanged.
func FuzzEncodedPassword(f *testing.F) {
	f.Add("user", "pass:w@rd/?#%[]")
	f.Add("", "\x00\xff\n")
	f.Add("ü", "")
	f.Fuzz(func(t *testing.T, user, password string) {
		encode := func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				fmt.Fprintf(&b, "%%%02X", s[i])
			}
			return b.String()
		}
		for _, scheme := range []string{"redis", "rediss"} {
			rawURL := scheme + "://" + encode(user) + ":" + encode(password) + "@h:1/0"
			got, err := backendurl.Parse(rawURL)
			if err != nil || got.User != user || got.Password != password || got.TLS != (scheme == "rediss") {
				t.Errorf("%q: %+v, %v", rawURL, got, err)
			}
		}
		bad := user == "" || strings.Contains(user+password, "\x00")
		for rest, refuse := range map[string]bool{
			"postgres://%s@h:1,i:2/db?sslmode=require": bad,
			"mysql://%s@h:1/db?tls=true":               bad,
			"etcd://%s@h:1,i:2/db?tls=true":            bad || password == "",
			"zk://%s@h:1,i:2/db":                       bad || password == "",
		} {
			rawURL := fmt.Sprintf(rest, encode(user)+":"+encode(password))
			got, err := backendurl.Parse(rawURL)
			if refuse != (err != nil) || !refuse && (got.User != user || got.Password != password ||
				got.TLS != strings.Contains(rest, "?") || strings.Trim(got.Place, "/") != "db") {
				t.Errorf("%q: %+v, %v", rawURL, got, err)
			}
		}
	})
}
