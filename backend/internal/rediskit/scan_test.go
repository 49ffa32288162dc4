package rediskit_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

func TestScan(t *testing.T) {
	errDown, errPage := errors.New("down"), errors.New("page")
	for name, c := range map[string]struct {
		down int // the master that fails
		stop int // the page after which it is enough
		fail int // the page that fails
		want []string
		err  error
	}{
		"all":         {-1, -1, -1, []string{"0 0", "0 7", "1 0", "1 7"}, nil},
		"enough":      {-1, 2, -1, []string{"0 0", "0 7", "1 0"}, nil},
		"master down": {1, -1, -1, []string{"0 0", "0 7"}, errDown},
		"bad page":    {-1, -1, 1, []string{"0 0", "0 7"}, errPage},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			masters := []redis.UniversalClient{new(redis.Client), new(redis.Client)}
			err := rediskit.Scan(masters, func(master redis.UniversalClient, cursor uint64) (*redis.ScanCmd, error) {
				number := slices.Index(masters, master)
				if number == c.down {
					return nil, errDown
				}
				cmd := redis.NewScanCmd(t.Context(), nil)
				cmd.SetVal([]string{fmt.Sprint(number, " ", cursor)}, 7-cursor)
				return cmd, nil
			}, func(names []string) (bool, error) {
				got = append(got, names...)
				if len(got)-1 == c.fail {
					return true, errPage
				}
				return len(got)-1 != c.stop, nil
			})
			if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
				t.Errorf("%q, %v, want %q, %v", got, err, c.want, c.err)
			}
		})
	}
}

func TestScanPattern(t *testing.T) {
	if got, want := rediskit.ScanPattern(`a*b?[c]\d`), `a\*b\?\[c\]\\d`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
