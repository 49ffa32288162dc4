package zklock_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/backend/zklock"
)

func TestGUID(t *testing.T) {
	t.Parallel()
	if g := zklock.GUID(guid + "@web-3/1432"); g != guid {
		t.Errorf("a UUID with a name becomes %s", g)
	}
	if g := zklock.GUID(guid); g != guid {
		t.Errorf("a UUID becomes %s", g)
	}
	seen := map[string]string{}
	for _, owner := range []string{"a", "b", "9F0A3C52-7C1E-4E59-8A86-7D1D1A4B7C11", "9f0a3c527c1e4e598a867d1d1a4b7c11", "{" + guid + "}", "urn:uuid:" + guid, guid} {
		g := zklock.GUID(owner)
		if _, err := uuid.Parse(g); err != nil || len(g) != 36 || g != zklock.GUID(owner) {
			t.Errorf("%q becomes %q", owner, g)
		}
		if other, ok := seen[g]; ok {
			t.Errorf("%q and %q are both %s", owner, other, g)
		}
		seen[g] = owner
	}
}
