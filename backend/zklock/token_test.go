package zklock_test

import (
	"math"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	var last uint64
	for _, zxid := range []int64{1, 2, 0x100000001, 1<<58 - 2, 1<<58 - 1} {
		for _, n := range []int{-1, 1, 64, 1000} {
			a, b, err := zklock.Tokens(zxid, n)
			if err != nil || a <= last || b < a || b-a >= 64 || b-a >= uint64(max(n, 1)) {
				t.Errorf("of %#x, %d tokens: %d to %d, %v; before was %d", zxid, n, a, b, err, last)
			}
			if n == 1000 {
				last = b
			}
		}
	}
	for _, zxid := range []int64{0, -1, 1 << 58, math.MaxInt64, math.MinInt64} {
		if _, _, err := zklock.Tokens(zxid, 1); err == nil {
			t.Errorf("tokens of %#x", zxid)
		}
	}
}
