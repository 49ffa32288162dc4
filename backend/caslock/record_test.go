package caslock_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The vectors of docs/record.md, which other languages read too.
func TestRecordVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/record.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name, Value, Holder, Mode string
		Holders, Expires          int
		Token, Last               uint64
		Foreign                   bool
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			if v.Value != "" {
				s.cells["key"] = []byte(v.Value)
			}
			b := s.open("")
			infos, err := b.(driver.Inspector).Inspect(t.Context(), "key", 0)
			info := driver.KeyInfo{Holders: make([]driver.HolderInfo, 1)}
			if len(infos) > 0 {
				info = infos[0]
			}
			h := info.Holders[0]
			if err != nil || info.Held != v.Holders || info.ModeName() != cmp.Or(v.Mode, "exclusive") || h.Holder != v.Holder ||
				h.Token != v.Token || h.LastToken != v.Last || h.ExpiresIn != time.Duration(v.Expires)*time.Millisecond {
				t.Errorf("%s: %+v, %v", v.Name, info, err)
			}
			g, err := b.TryAcquire(t.Context(), testkit.NewRequest("key"))
			switch {
			case v.Foreign != errors.Is(err, driver.ErrForeign), (v.Holders == 0) != (err == nil), !errors.Is(err, driver.ErrNotAcquired) && err != nil:
				t.Errorf("%s: TryAcquire: %+v, %v", v.Name, g, err)
			case v.Foreign && string(s.cells["key"]) != v.Value:
				t.Errorf("%s is overwritten with %s", v.Name, s.cells["key"])
			}
		})
	}
}
