package rediskit_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// A list that is full is the end: no more is asked, and no more is listed.
func TestInspectionEndsWhenItIsFull(t *testing.T) {
	t.Parallel()
	read := func(names []string) (infos []driver.KeyInfo, _ error) {
		for _, name := range names {
			infos = append(infos, driver.KeyInfo{Key: name})
		}
		return infos, nil
	}
	for scans, before := range [][]string{{"x", "y"}, {"x"}} {
		asked, scanned := 0, 0
		list := rediskit.Inspection{
			Limit: 2, Read: read,
			Masters: func() ([]redis.UniversalClient, error) { asked++; return make([]redis.UniversalClient, 2), nil },
			Scan: func(func(context.Context) (*redis.ScanCmd, error)) (*redis.ScanCmd, error) {
				scanned++
				return redis.NewScanCmdResult([]string{"c", "x", "b", "a"}, uint64(max(0, 3-scanned)), nil), nil
			},
		}
		exactly, _ := read(before)
		found, err := list.List(exactly)
		if err != nil || len(found) != 2 || asked != scans || scanned != scans {
			t.Errorf("%q before: found %+v, %v; asked %d times for the masters, scanned %d times", before, found, err, asked, scanned)
		}
	}
}
