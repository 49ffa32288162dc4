package backendurl

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// rules are what a store allows in a URL. What the client of the store checks by itself is
// not among them.
type rules struct {
	oneHost    bool
	user       bool // before an @
	password   bool // the same
	database   bool // the path is the name of a database
	file       bool // the path names a file
	parameters []string
}

// tlsParameter is a parameter of stores whose scheme does not say whether to use TLS.
const tlsParameter = "tls"

// check returns what is wrong with u, and sets its configuration for TLS.
func (r rules) check(u *hostURL) error {
	user, password := u.user.Username(), u.password()
	switch {
	case r.oneHost && len(u.servers) > 1:
		return errors.New("want one host")
	case u.user != nil && (r.user && user == "" || r.password && password == ""):
		return errors.New("want user:password before the @")
	case r.user && strings.ContainsRune(user+password, 0):
		return errors.New("user or password has a zero byte")
	case r.database && strings.ContainsAny(u.name(), "/\x00"):
		return errors.New("the name of the database has a slash or a zero byte")
	case r.file:
		return checkFile(u.path)
	case r.parameters == nil:
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(u.query)) {
		if len(r.parameters) == 0 {
			return fmt.Errorf("unexpected parameter %q: want none", name)
		}
		if !slices.Contains(r.parameters, name) {
			return fmt.Errorf("unexpected parameter %q: want none but %s", name, strings.Join(r.parameters, ", "))
		}
	}
	switch value, ok := u.parameter(tlsParameter); {
	case !ok:
	case value == "true":
		u.tls = &tls.Config{}
	case value == "skip-verify":
		u.tls = &tls.Config{InsecureSkipVerify: true}
	default:
		return fmt.Errorf("%s is %q: want true or skip-verify", tlsParameter, value)
	}
	return nil
}

// checkFile checks a path, which is taken as it is, without percent-encoding and
// parameters, as a user of a shell expects.
func checkFile(path string) error {
	switch {
	case path == "", strings.HasPrefix(path, "//"), strings.HasPrefix(path, "file:"), strings.HasPrefix(path, ":"), strings.HasSuffix(path, "/"):
		return errors.New("want the path of a file after sqlite: without // or file: before it")
	case strings.ContainsAny(path, "?\x00"):
		return errors.New("a SQLite database has no parameters, and its path must not have a ? or a zero byte")
	default:
		return nil
	}
}
