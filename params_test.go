package distlock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	l := distlock.New(newStore(), distlock.Config{})
	defer closeLocker(t, l)
	own := distlock.Opts{Value: "v", KeyTimeout: 3 * time.Second, RetryInterval: 200 * time.Millisecond}
	for _, c := range []struct {
		opts distlock.Opts
		err  error
		want time.Duration
	}{
		{own, distlock.ErrUnavailable, 200 * time.Millisecond},
		{own, &distlock.HeldError{}, 200 * time.Millisecond},
		{own, &distlock.Error{Op: "acquire", Err: &distlock.HeldError{RetryAfter: time.Second}}, time.Second},
		{own, &distlock.HeldError{RetryAfter: time.Hour}, 3 * time.Second},
		{distlock.Opts{Value: "v"}, distlock.ErrUnavailable, distlock.DefaultRetryInterval},
		{distlock.Opts{Value: "v"}, &distlock.HeldError{RetryAfter: time.Hour}, distlock.DefaultKeyTimeout},
	} {
		if got := l.Guard(c.opts).RetryAfter(c.err); got != c.want {
			t.Errorf("%v after %v: %v, want %v", c.opts.KeyTimeout, c.err, got, c.want)
		}
	}
}
