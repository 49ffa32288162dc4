package test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The random part of an owner is a UUID, and the name after it is that of the Config.
func TestOwnerNamesTheHolder(t *testing.T) {
	for _, c := range []struct {
		holder string
		want   func(name string) bool
	}{
		{"", func(name string) bool { return name != "" && strings.Contains(name, "/") }},
		{"-", func(name string) bool { return name == "" }},
		{"billing.eu-1/7", func(name string) bool { return name == "billing.eu-1/7" }},
		{strings.Repeat("n", 64), func(name string) bool { return len(name) == 64 }},
	} {
		s := testkit.NewStore()
		l := distlock.New(s, distlock.Config{Holder: c.holder})
		lease := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		owner := s.Calls(testkit.Wait)[0].Owner
		id, name, _ := strings.Cut(owner, "@")
		if err := uuid.Validate(id); err != nil {
			t.Errorf("owner %q: %v", owner, err)
		}
		if !c.want(name) || driver.HolderOf(owner) != name {
			t.Errorf("Holder %q: owner %q, HolderOf is %q", c.holder, owner, driver.HolderOf(owner))
		}
		infos, err := admin.Inspect(t.Context(), l, "k", 1)
		if err != nil || len(infos) != 1 || infos[0].Holders[0].Holder != name {
			t.Errorf("Holder %q: Inspect says %+v, %v", c.holder, infos, err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		wantIs(t, l.Close())
	}
}
