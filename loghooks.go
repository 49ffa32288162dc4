package distlock

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// LogHooks returns hooks that log lost leases, failed renewals and releases as warnings, and so
// errors of the program, such as refused options. A refused key is the fault of a request, and
// is not a warning. A wait for a function of this process whose lease is over is a warning, once
// for each key. Other waits are logged on the info level. The rest is logged on the debug level,
// also the wait of a candidate of [Locker.Lead].
//
// A crowd does not fill the log. All callers that wait for one key have one line after 1, 2,
// 4 seconds and so on, and later each minute: how many they are, and the longest wait. After
// the first failed renewal or release, further ones with the same reason are counted in one
// line, at the same pace. LogHooks panics if log is nil.
func LogHooks(log *slog.Logger) Hooks {
	if log == nil {
		panic("distlock: LogHooks: nil Logger")
	}
	l := &eventLog{log: log, crowds: make(map[[2]string]*crowd), outages: make(map[[2]string]*outage)}
	return Hooks{Start: l.start, Event: l.event}
}

// eventLog is a log with what it needs in order not to repeat itself. A crowd is kept while
// it waits, and an outage while it goes on.
type eventLog struct {
	log *slog.Logger

	mu      sync.Mutex
	crowds  map[[2]string]*crowd  // by name and key
	outages map[[2]string]*outage // by what failed and the reason
}

func (l *eventLog) start(ctx context.Context, e Event) context.Context {
	l.line(ctx, slog.LevelDebug, "lock wanted", &e)
	if !l.log.Enabled(ctx, slog.LevelWarn) {
		return ctx
	}
	return &logged{Context: ctx, log: l}
}

func (l *eventLog) event(ctx context.Context, e Event) {
	token, held := slog.Uint64("token", e.Token), slog.Duration("held", e.Held)
	switch e.Kind {
	case Waiting:
		l.waiting(ctx, &e)
	case Acquired:
		l.waited(ctx, &e)
		l.line(ctx, slog.LevelDebug, "lock acquired", &e, token, slog.Duration("wait", e.Wait),
			slog.Bool("reentrant", e.Reentrant), slog.Bool("handed_over", e.HandedOver))
	case Failed:
		l.waited(ctx, &e)
		if keptOver(e.Err) {
			l.failed(ctx, "lock not acquired", &e, slog.Duration("wait", e.Wait))
			return
		}
		level := slog.LevelDebug
		if CodeOf(e.Err).isFault() && (e.Key != "" || !errors.Is(e.Err, ErrKey)) {
			level = slog.LevelWarn
		}
		l.line(ctx, level, "lock not acquired", &e, slog.Duration("wait", e.Wait), slog.Any("err", e.Err))
	case Renewed:
		if left := slog.Duration("left", e.Left); e.Err == nil {
			l.line(ctx, slog.LevelDebug, "lock renewed", &e, token, held, left)
		} else {
			l.failed(ctx, "lock not renewed", &e, token, held, left)
		}
	case Lost:
		l.line(ctx, slog.LevelWarn, "lock lost", &e, token, held, slog.Any("err", e.Err))
	case Released:
		if errors.Is(e.Err, ErrUnavailable) { // the caller is not told
			l.failed(ctx, "lock not released", &e, token, held)
			return
		}
		msg := "lock released"
		if e.Leader {
			msg = "leader resigned"
		}
		l.line(ctx, slog.LevelDebug, msg, &e, token, held, slog.Bool("reentrant", e.Reentrant), slog.Any("err", e.Err))
	}
}

func (l *eventLog) line(ctx context.Context, level slog.Level, msg string, e *Event, attrs ...slog.Attr) {
	if l.log.Enabled(ctx, level) {
		l.log.LogAttrs(ctx, level, msg, append([]slog.Attr{slog.String("name", e.Name), slog.String("key", e.Key)}, attrs...)...)
	}
}

// logged is the context of an acquisition, which finds its entry in a crowd.
type logged struct {
	context.Context //nolint:containedctx // it is one itself

	log   *eventLog
	begun time.Time // zero until it is in a crowd
}

// Value returns a for the key of its log: other hooks may be above and below.
func (a *logged) Value(key any) any {
	if l, ok := key.(*eventLog); ok && l == a.log {
		return a
	}
	return a.Context.Value(key)
}

// pace is how long to be silent: 1, 2, 4 seconds and so on, at most a minute.
type pace time.Duration

func (p *pace) next() time.Duration {
	*p = min(max(2**p, pace(firstReport)), pace(longestPause))
	return time.Duration(*p)
}

// crowd is the callers that wait for one key, each for a second or longer.
type crowd struct {
	callers map[*logged]struct{}
	silent  time.Time // no line until then
	pace    pace
	warned  bool // of a function whose lease is over
}

// waiting logs the crowd of a caller, unless it was logged a moment ago.
func (l *eventLog) waiting(ctx context.Context, e *Event) {
	a, _ := ctx.Value(l).(*logged)
	if e.Leader || a == nil {
		l.line(ctx, slog.LevelDebug, "waiting for lock", e, e.waitAttrs(1, e.Wait)...)
		return
	}
	now, id := time.Now(), [2]string{e.Name, e.Key}
	l.mu.Lock()
	c := l.crowds[id]
	if c == nil {
		c = &crowd{callers: make(map[*logged]struct{})}
		l.crowds[id] = c
	}
	a.begun = now.Add(-e.Wait)
	c.callers[a] = struct{}{}
	level, silent, longest := slog.LevelInfo, now.Before(c.silent) || e.Place > 0 && e.Wait < 2*firstReport && !e.namesHolder(), e.Wait
	if !c.warned && keptOver(e.Err) {
		level, silent, c.warned = slog.LevelWarn, false, true
	}
	if !silent {
		c.silent = now.Add(c.pace.next())
		for other := range c.callers {
			longest = max(longest, now.Sub(other.begun))
		}
	}
	n := max(e.Waiters, len(c.callers))
	l.mu.Unlock()
	if !silent {
		l.line(ctx, level, "waiting for lock", e, e.waitAttrs(n, longest)...)
	}
}

// keptOver reports whether a caller is refused because a function of this process goes on
// after the end of its lease.
func keptOver(err error) bool {
	held := new(HeldError)
	return errors.As(err, &held) && held.Over
}

// namesHolder reports whether the wait has a reason that a line should show. Soon after the
// first report of a crowd, the caller among them that asks the store has one.
func (e *Event) namesHolder() bool {
	held := new(HeldError)
	return !errors.As(e.Err, &held) || held.Local || held.Holder != ""
}

// waited takes a caller out of its crowd.
func (l *eventLog) waited(ctx context.Context, e *Event) {
	if e.Wait < firstReport {
		return
	}
	a, _ := ctx.Value(l).(*logged)
	id := [2]string{e.Name, e.Key}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.crowds[id]; c != nil {
		if delete(c.callers, a); len(c.callers) == 0 {
			delete(l.crowds, id)
		}
	}
}

// waitAttrs returns what a line says about the wait of n callers: only what is known.
func (e *Event) waitAttrs(n int, longest time.Duration) []slog.Attr {
	attrs := []slog.Attr{slog.Int("waiters", n), slog.Duration("longest", longest.Round(time.Millisecond))}
	held := new(HeldError)
	switch {
	case !errors.As(e.Err, &held):
		attrs = append(attrs, slog.Any("err", e.Err))
	case held.Over:
		attrs = append(attrs, slog.String("holder", "this process, whose lease is over"))
	case held.Local:
		attrs = append(attrs, slog.String("holder", "this process"))
	case held.Holder != "":
		attrs = append(attrs, slog.String("holder", held.Holder))
	}
	if held.Held > 0 {
		attrs = append(attrs, slog.Duration("held", held.Held.Round(time.Millisecond)))
	}
	return attrs
}

// outage is the renewals, or the releases, that fail for one reason.
type outage struct {
	more int // since the last line
	pace pace
}

// maxOutages limits the number of reasons that are counted apart.
const maxOutages = 16

// failed logs the first failure of an outage, and counts the others.
func (l *eventLog) failed(ctx context.Context, msg string, e *Event, attrs ...slog.Attr) {
	id := [2]string{msg, reasonOf(e.Err)}
	l.mu.Lock()
	o := l.outages[id]
	if o == nil && len(l.outages) >= maxOutages {
		id[1] = "several reasons"
		o = l.outages[id]
	}
	first := o == nil
	if first {
		o = new(outage)
		l.outages[id] = o
		ctx := context.WithoutCancel(ctx) // the lease may be over by then
		time.AfterFunc(o.pace.next(), func() { l.goesOn(ctx, id, o) })
	} else {
		o.more++
	}
	l.mu.Unlock()
	if first {
		l.line(ctx, slog.LevelWarn, msg, e, append(attrs, slog.Any("err", e.Err))...)
	}
}

// goesOn logs how many have failed since the last line of an outage, or ends it.
func (l *eventLog) goesOn(ctx context.Context, id [2]string, o *outage) {
	l.mu.Lock()
	more := o.more
	o.more = 0
	if more == 0 {
		delete(l.outages, id)
	} else {
		time.AfterFunc(o.pace.next(), func() { l.goesOn(ctx, id, o) })
	}
	l.mu.Unlock()
	if more > 0 {
		l.log.LogAttrs(ctx, slog.LevelWarn, id[0], slog.Int("more", more), slog.String("err", id[1]))
	}
}

// reasonOf returns the text of the error of a failure without what differs from lease to
// lease: the key, and numbers such as the port of a connection.
func reasonOf(err error) string {
	if e := new(Error); errors.As(err, &e) {
		err = e.Err
	}
	digit := false
	return strings.Map(func(r rune) rune {
		before := digit
		digit = '0' <= r && r <= '9'
		switch {
		case !digit:
			return r
		case before:
			return -1
		default:
			return '#'
		}
	}, err.Error())
}
