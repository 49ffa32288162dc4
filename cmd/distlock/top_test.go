package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// moment is when the answers of these tests come.
var moment = time.Date(2026, 11, 22, 10, 12, 30, 0, time.Local)

// shown returns what the screen shows, with single spaces.
func (t *top) shown(now time.Time) string {
	return regexp.MustCompile(` +`).ReplaceAllString(strings.Join(t.lines(now, 120), "\n"), " ")
}

func heldFor(key string, waiting int, d time.Duration) driver.KeyInfo {
	return driver.KeyInfo{Key: key, Held: 1, Waiting: waiting, Holders: []driver.HolderInfo{{Holder: "web", Owner: "0f", Since: moment.Add(-d), ExpiresIn: 7 * time.Second}}}
}

func TestTopSorts(t *testing.T) {
	t.Parallel()
	v := &top{limit: 100, hide: strings.Clone}
	v.update(moment, []driver.KeyInfo{
		{Key: "a", Waiting: 1}, heldFor("b", 0, time.Minute), heldFor("c", 0, time.Hour), heldFor("d", 3, time.Second), {Key: "e", Held: 1}, heldFor("f", 0, time.Hour),
	}, nil)
	const want = `10:12:31 keys: 6, holders: 5, waiting: 4 (q ends)

KEY WAITING HOLDER LEFT MODE HELD SINCE TOKEN OWNER
d 3 web 7s exclusive 1 2026-11-22 10:12:29 - 0f
a 1 - - exclusive 0 - - -
c 0 web 7s exclusive 1 2026-11-22 09:12:30 - 0f
f 0 web 7s exclusive 1 2026-11-22 09:12:30 - 0f
b 0 web 7s exclusive 1 2026-11-22 10:11:30 - 0f
e 0 - - exclusive 1 - - -`
	if got := v.shown(moment.Add(time.Second)); got != want {
		t.Errorf("got\n%s", got)
	}
}

// A long key leaves room for the other columns.
func TestTopShortensKeys(t *testing.T) {
	t.Parallel()
	v := &top{limit: 100, hide: strings.Clone}
	fits := strings.Repeat("é", 50)
	v.update(moment, []driver.KeyInfo{heldFor("orders:"+strings.Repeat("x", 200)+"/42", 2, 1), heldFor(fits, 1, 1)}, nil)
	got := v.shown(moment)
	for _, want := range []string{
		"\norders:" + strings.Repeat("x", 13) + "…" + strings.Repeat("x", 26) + "/42 2 web",
		"\n" + fits + " 1 web",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q:\n%s", want, got)
		}
	}
}

// A terminal of 80 columns shows key, waiters and holder, however long they are.
func TestTopShowsTheHolderOn80Columns(t *testing.T) {
	t.Parallel()
	v := &top{limit: 100, hide: strings.Clone}
	long := heldFor("shop:pay:"+strings.Repeat("0123456789abcdef", 4), 12, time.Minute)
	long.Holders[0].Holder = "orders-7d9f8b6c5-x2x4z.shop.svc.cluster.local/1"
	v.update(moment, []driver.KeyInfo{long}, nil)
	lines := v.lines(moment, 80)
	shown := strings.Fields(cut(lines[len(lines)-1], 80))
	if len(shown) < 3 || !strings.HasSuffix(shown[0], "cdef") || shown[1] != "12" || !strings.HasSuffix(shown[2], "cluster.local/1") {
		t.Errorf("it shows %q", shown)
	}
}

func TestTopShowsThatThereAreMore(t *testing.T) {
	t.Parallel()
	v := &top{limit: 2}
	for n, want := range map[int]string{2: "keys: 2, holders: 2,", 3: "keys: 2 of more, holders: 2,"} {
		v.update(moment, []driver.KeyInfo{heldFor("a", 0, 1), heldFor("b", 0, 1), heldFor("c", 9, 1)}[:n], nil)
		if got := v.shown(moment); !strings.Contains(got, want) || strings.Contains(got, "\nc ") {
			t.Errorf("%d keys:\n%s", n, got)
		}
	}
}

// The table of before stays while the store does not answer.
func TestTopShowsThatTheStoreFails(t *testing.T) {
	t.Parallel()
	v := &top{limit: 100, hide: strings.Clone}
	down := errors.New("dial tcp 127.0.0.1:6379:\nrefused")
	first := func() string { line, _, _ := strings.Cut(v.shown(moment.Add(5*time.Second)), "\n"); return line }
	if got := first(); got != "10:12:35 waiting for the store (q ends)" {
		t.Errorf("at first: %s", got)
	}
	v.update(moment, nil, down)
	if got := first(); got != "10:12:35 the store does not answer: dial tcp 127.0.0.1:6379: refused" {
		t.Errorf("no answer: %s", got)
	}
	v.update(moment, []driver.KeyInfo{heldFor("a", 0, 1)}, nil)
	v.update(moment.Add(4*time.Second), nil, down)
	if got := first(); got != "10:12:35 the store has not answered since 10:12:30: dial tcp 127.0.0.1:6379: refused" {
		t.Errorf("no answer any more: %s", got)
	}
	if !strings.Contains(v.shown(moment), "\na 0 web ") {
		t.Error("the table is gone")
	}
	v.update(moment.Add(6*time.Second), nil, nil)
	if got := first(); got != "10:12:35 keys: 0, holders: 0, waiting: 0 (q ends)" {
		t.Errorf("an answer: %s", got)
	}
}

// On a small terminal lines are cut, and there are as many as fit.
func TestPage(t *testing.T) {
	t.Parallel()
	lines := []string{"10:12:30  \x1b[2Jbad", "", "KEY    MODE", "ключ   exclusive", "a", "b"}
	for _, c := range []struct {
		width, height int
		want          string
	}{
		{80, 24, "10:12:30  ?[2Jbad||KEY    MODE|ключ   exclusive|a|b"},
		{80, 6, "10:12:30  ?[2Jbad||KEY    MODE|ключ   exclusive|a|b"},
		{80, 5, "10:12:30  ?[2Jbad||KEY    MODE|ключ   exclusive|and 2 more lines"},
		{80, 1, "and 6 more lines"},
		{4, 24, "10:1||KEY |ключ|a|b"},
	} {
		got := page(lines, c.width, c.height)
		if !strings.HasPrefix(got, toStart) || !strings.HasSuffix(got, restOfPage) || strings.Contains(got, reverse+"KEY") != (c.height > 1) {
			t.Errorf("%dx%d: %q", c.width, c.height, got)
		}
		got = strings.NewReplacer(toStart, "", restOfLine, "", restOfPage, "", reverse, "", normal, "", "\r\n", "|").Replace(got)
		if got != c.want {
			t.Errorf("%dx%d: %s", c.width, c.height, got)
		}
	}
}
