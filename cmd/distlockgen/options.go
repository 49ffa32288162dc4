package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
)

// options returns the Opts literal of a site: what was said, field by field.
func (f *file) options(s *site) string {
	o := s.Lock.Opts
	kit := f.importing(kitPath)
	var b strings.Builder
	b.WriteString(kit + ".Opts{\n")
	if o.Prefix != "" {
		fmt.Fprintf(&b, "Prefix: %q,\n", o.Prefix)
	}
	fmt.Fprintf(&b, "Value: %q,\n", o.Value)
	boolean(&b, "ParamLock", o.ParamLock)
	if s.Lock.Hasher != nil {
		fmt.Fprintf(&b, "Hasher: %s,\n", s.Lock.Hasher.Text)
	}
	f.duration(&b, "KeyTimeout", o.KeyTimeout)
	number(&b, "RetryCount", o.RetryCount)
	f.duration(&b, "RetryInterval", o.RetryInterval)
	f.duration(&b, "MaxWait", o.MaxWait)
	if o.Mode == distlock.Shared {
		fmt.Fprintf(&b, "Mode: %s.Shared,\n", kit)
	}
	number(&b, "Permits", o.Permits)
	f.duration(&b, "MaxHold", o.MaxHold)
	f.duration(&b, "MinHold", o.MinHold)
	boolean(&b, "Fencing", o.Fencing)
	boolean(&b, "NoWatchdog", o.NoWatchdog)
	number(&b, "MaxWaiters", o.MaxWaiters)
	b.WriteString("}")
	return b.String()
}

func boolean(b *strings.Builder, field string, value bool) {
	if value {
		fmt.Fprintf(b, "%s: true,\n", field)
	}
}

func number(b *strings.Builder, field string, value int) {
	if value != 0 {
		fmt.Fprintf(b, "%s: %d,\n", field, value)
	}
}

func (f *file) duration(b *strings.Builder, field string, d time.Duration) {
	if d == 0 {
		return
	}
	pkg := f.importing("time")
	for _, unit := range []struct {
		name  string
		value time.Duration
	}{
		{"Hour", time.Hour}, {"Minute", time.Minute}, {"Second", time.Second},
		{"Millisecond", time.Millisecond}, {"Microsecond", time.Microsecond}, {"Nanosecond", 1},
	} {
		if d == unit.value {
			fmt.Fprintf(b, "%s: %s.%s,\n", field, pkg, unit.name)
			return
		}
		if d%unit.value == 0 {
			fmt.Fprintf(b, "%s: %d * %s.%s,\n", field, d/unit.value, pkg, unit.name)
			return
		}
	}
}
