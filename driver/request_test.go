package driver_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// A Release that gives up a request gets all that the request says about the lock.
func TestGrantOfRequest(t *testing.T) {
	r := driver.Request{
		Key: "k", Owner: "o", TTL: time.Minute, Mode: driver.Shared, Permits: 3, Tokens: 64,
	}
	want := driver.Grant{Key: "k", Owner: "o", TTL: time.Minute, Mode: driver.Shared, Permits: 3}
	if got := r.Grant(); got != want {
		t.Errorf("Grant() = %+v, want %+v", got, want)
	}
	if s := (driver.Sharing{Mode: driver.Shared, Permits: 3}); r.Sharing() != s || want.Sharing() != s {
		t.Errorf("Sharing() = %+v of the request, %+v of the grant, want %+v", r.Sharing(), want.Sharing(), s)
	}
}
