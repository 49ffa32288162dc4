package test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// If the caller gives the key, fields that make keys of parameters are refused: if they
// were ignored, all callers would have the same lock.
func TestGivenKeyRefusesFieldsForParameters(t *testing.T) {
	t.Parallel()
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	fn := func(context.Context) error { return errors.New("fn ran") }
	var key string // each call has its own key
	for name, lock := range map[string]func(o distlock.Opts) error{
		"Do": func(o distlock.Opts) error { return l.Do(t.Context(), key, o, fn) },
		"Call": func(o distlock.Opts) error {
			_, err := distlock.Call(t.Context(), l, key, o, func(ctx context.Context) (int, error) { return 0, fn(ctx) })
			return err
		},
		"Acquire":    func(o distlock.Opts) error { _, err := l.Acquire(t.Context(), key, o); return err },
		"TryAcquire": func(o distlock.Opts) error { _, err := l.TryAcquire(t.Context(), key, o); return err },
		"AcquireAll": func(o distlock.Opts) error { _, err := l.AcquireAll(t.Context(), []string{key}, o); return err },
		"DoAll":      func(o distlock.Opts) error { return l.DoAll(t.Context(), []string{key}, o, fn) },
		"Lead":       func(o distlock.Opts) error { return l.Lead(t.Context(), key, o, fn) },
	} {
		for field, o := range map[string]distlock.Opts{
			"ParamLock": {ParamLock: true},
			"Params":    {Params: distlock.By(func(o order) any { return o.ID })},
			"Hasher":    {Hasher: distlock.Plain()},
			"KeyFormat": {KeyFormat: func(string, any) (string, error) { return "k", nil }},
		} {
			key = name + ":" + field
			err := lock(o)
			e := new(distlock.Error)
			want := field + " is set, but the key is given, not made of parameters: use Wrap, or make the key with wiring.Key"
			if !errors.As(err, &e) || e.Op != "options" || e.Err.Error() != want || !strings.HasPrefix(err.Error(), "distlock: options") {
				t.Errorf("%s with %s: %v, want %s", name, field, err, want)
			}
		}
	}
	if calls := s.Calls(); len(calls) > 0 {
		t.Errorf("the store was asked: %v", calls)
	}
}
