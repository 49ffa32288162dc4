package owner_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/internal/owner"
)

func TestHolder(t *testing.T) {
	id := uuid.NewString()
	for o, want := range map[string]string{
		id + "@web-3/1432":                  "web-3/1432",
		id + "@" + strings.Repeat("h", 64):  strings.Repeat("h", 64),
		id + "@" + strings.Repeat("h", 65):  "",
		id + "@":                            "",
		id:                                  "",
		"":                                  "",
		"web-3/1432":                        "",
		id + "@web 3":                       "",
		id + "@web:3":                       "",
		id + "@b\u00fcro":                   "",
		id[:35] + "@web-3":                  "",
		strings.Repeat("x", 36) + "@web-3":  "", // another library's
		"bWV0YWRhdGEgb2YgYW5vdGhlciBsaWI@x": "",
	} {
		if got := owner.Holder(o); got != want {
			t.Errorf("Holder(%q) = %q, want %q", o, got, want)
		}
	}
}
