package test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
)

func TestKeyed(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef")
	h := distlock.Keyed(secret)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("encoded"))
	want := "a:" + hex.EncodeToString(mac.Sum(nil)[:16])
	if got := string(h([]byte("a:"), []byte("encoded"))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	clear(secret) // the Hasher keeps a copy
	if got := string(h([]byte("a:"), []byte("encoded"))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	other := distlock.Keyed([]byte("0123456789abcdeg"))
	if string(other([]byte("a:"), []byte("encoded"))) == want {
		t.Error("the secret does not matter")
	}
}

func TestKeyedRefusesShortSecrets(t *testing.T) {
	t.Parallel()
	for _, secret := range [][]byte{nil, {}, []byte("0123456789abcde")} {
		func() {
			defer func() {
				text, _ := recover().(string)
				if !strings.HasPrefix(text, "distlock: Keyed: ") || len(secret) > 0 && strings.Contains(text, string(secret)) {
					t.Errorf("%d bytes: panicked with %q", len(secret), text)
				}
			}()
			distlock.Keyed(secret)
		}()
	}
}
