package request_test

import (
	"errors"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
)

func TestMissing(t *testing.T) {
	t.Parallel()
	type named string
	var none *int
	for _, v := range []any{nil, "", named(""), []any{}, []any{"a", ""}, []any{[]any{nil}}, []byte(nil), map[string]int{}, none,
		new(string), []string{"a", ""}, [1]string{}, &[]any{""}, [][]string{{""}}} {
		if _, err := request.Params(v, nil); !errors.Is(err, distlock.ErrKey) {
			t.Errorf("%#v is not missing: %v", v, err)
		}
	}
	itself := []any{1, 2}
	itself[0], itself[1] = itself, itself // a key refuses it
	for i, v := range []any{0, int64(0), 0.0, false, " ", named("a"), []any{"a", 0}, []byte{0}, struct{}{}, new(int), distlock.Skip, itself} {
		if _, err := request.Params(v, nil); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}
