package directive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/gen/internal/directive"
)

func TestParse(t *testing.T) {
	t.Parallel()
	all := `//distlock:lock prefix:shop: value:pay paramLock keyTimeout:10s retryCount:2 retryInterval:200ms maxWait:3s ` +
		`permits:3	param:orderID key:r.User.ID key:'fmt.Sprintf("%04d", n)' key:"m['a']" keyFormat:javakey.Aspect ` +
		`maxHold:1m minHold:500ms fencing reentry:none as:PayLocked locker:s.locker`
	l, problems := directive.Parse(all, 1)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if want := (distlock.Opts{
		Prefix: "shop:", Value: "pay", ParamLock: true, KeyTimeout: 10 * time.Second, RetryCount: 2,
		RetryInterval: 200 * time.Millisecond, MaxWait: 3 * time.Second, Permits: 3, MaxHold: time.Minute, MinHold: 500 * time.Millisecond,
		Fencing: true, Reentry: distlock.ReentryNone,
	}); fmt.Sprintf("%+v", l.Opts) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v\nwant %+v", l.Opts, want)
	}
	var parts []string
	for _, p := range l.Parts {
		parts = append(parts, p.Text)
		if at := int(p.Pos) - 1; !strings.HasPrefix(all[at:], p.Text) {
			t.Errorf("%s is said to be at %q", p.Text, all[at:])
		}
	}
	if got, want := strings.Join(parts, "|"), `orderID|r.User.ID|fmt.Sprintf("%04d", n)|m['a']`; got != want {
		t.Errorf("parts %s, want %s", got, want)
	}
	if l.Exprs["keyFormat"].Text != "javakey.Aspect" || l.Exprs["locker"].Text != "s.locker" || l.As != "PayLocked" {
		t.Errorf("key format %q, locker %q, as %q", l.Exprs["keyFormat"].Text, l.Exprs["locker"].Text, l.As)
	}
	if l, problems := directive.Parse("//distlock:lock value:a paramLock hasher:distlock.Keyed(nil)", 1); len(problems) > 0 || l.Exprs["hasher"].Text != "distlock.Keyed(nil)" {
		t.Errorf("%+v, %v", l, problems)
	}
	if l, problems := directive.Parse("//distlock:lock value:a mode:shared paramLock:false fencing:false", 1); len(problems) > 0 ||
		fmt.Sprintf("%+v", l.Opts) != fmt.Sprintf("%+v", distlock.Opts{Value: "a", Mode: distlock.Shared}) {
		t.Errorf("%+v, %v", l.Opts, problems)
	}
}

// Each problem of Parse has a position in the comment.
func FuzzParse(f *testing.F) {
	for _, args := range []string{
		" prefix:shop: value:pay paramLock", ` value:a key:'f("x", y)' key:r.User.ID`, " value=a", ` "`, " value:a keyTimeout:", "\tvalue:\xff", "\f", " \f", " value:a \f ", " key:a\f,", " vale:a retry:3 parm:b",
		` @DistributedLock(prefix = "my-", value = "a,", keyTimeout = 3000L)`, ` value:a, key:f("x", 1) + 'y';`, " value:“a”,mode=Shared",
	} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		comment := directive.Marker + args
		l, problems := directive.Parse(comment, 1)
		for _, p := range problems {
			if p.Pos < 1 || int(p.Pos) > len(comment)+1 || p.Message == "" {
				t.Errorf("%q: problem %q at %d", comment, p.Message, p.Pos)
			}
		}
		if len(problems) > 0 {
			return
		}
		if err := l.Opts.Validate(); err != nil {
			t.Errorf("%q: no problems, but %v", comment, err)
		}
	})
}
