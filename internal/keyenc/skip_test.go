package keyenc_test

import (
	"testing"

	"github.com/distlock-go/distlock/internal/keyenc"
)

func TestMissing(t *testing.T) {
	t.Parallel()
	type named string
	var none *int
	for _, v := range []any{nil, "", named(""), []any{}, []any{"a", ""}, []any{[]any{nil}}, []byte(nil), map[string]int{}, none} {
		if !keyenc.Missing(v) {
			t.Errorf("%#v is not missing", v)
		}
	}
	for _, v := range []any{0, int64(0), 0.0, false, " ", named("a"), []any{"a", 0}, []byte{0}, struct{}{}, new(int), keyenc.Skip} {
		if keyenc.Missing(v) {
			t.Errorf("%#v is missing", v)
		}
	}
}
