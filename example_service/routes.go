package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
)

// route is a line of the table that says for each route what it locks.
type route struct {
	method, pattern string

	// lock is the wildcard of the pattern whose value is locked, or unlocked. It
	// is not left out: a lock that somebody forgot would be noticed too late.
	lock string

	// before runs before the lock is taken; nil is nothing.
	before func(http.Handler) http.Handler

	handle http.HandlerFunc
}

// unlocked is the lock of a route that takes none. It cannot be a wildcard.
const unlocked = "-"

func (rt route) String() string { return rt.method + " " + rt.pattern }

// mount checks the table as a whole and adds its routes to r, each under the
// lock that it names. The error has all that is wrong.
func mount(r chi.Router, routes []route, l *distlock.Locker, lock distlock.Opts) error {
	if err := checkRoutes(routes); err != nil {
		return err
	}
	for _, rt := range routes {
		in := r
		if rt.before != nil {
			in = in.With(rt.before)
		}
		if rt.lock != unlocked {
			in = in.With(httpmw.Lock(l, httpmw.PathValue(rt.lock), lock))
		}
		in.Method(rt.method, rt.pattern, rt.handle)
	}
	return nil
}

// checkRoutes finds what would otherwise be found by the first request, or never.
func checkRoutes(routes []route) error {
	var errs []error
	seen := map[string]bool{}
	for _, rt := range routes {
		fault := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("route %s: %s", rt, fmt.Sprintf(format, args...)))
		}
		if err := checkPattern(rt.pattern); err != nil {
			fault("pattern: %v", err)
		} else if rt.lock == "" {
			fault("lock: is missing; a route without a lock says %q", unlocked)
		} else if rt.lock != unlocked {
			if err := httpmw.CheckPattern(rt.pattern, httpmw.PathValue(rt.lock)); err != nil {
				fault("lock: %v", err)
			}
		}
		if !slices.Contains(methods, rt.method) {
			fault("method: want one of %q, got %q", methods, rt.method)
		}
		if rt.handle == nil {
			fault("handle: is nil")
		}
		if seen[rt.String()] {
			fault("is there twice")
		}
		seen[rt.String()] = true
	}
	return errors.Join(errs...)
}

// methods are those that routes may have.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut}

// checkPattern refuses what the shop has no use for in a pattern of chi's: regular
// expressions and "*".
func checkPattern(pattern string) error {
	if !strings.HasPrefix(pattern, "/") {
		return errors.New("does not begin with a slash")
	}
	for piece := range strings.SplitSeq(pattern[1:], "/") {
		name, isOpen := strings.CutPrefix(piece, "{")
		name, isClosed := strings.CutSuffix(name, "}")
		if isOpen != isClosed || strings.ContainsAny(name, "{}*:") || isOpen && (name == "" || name == unlocked) {
			return fmt.Errorf("want pieces that are text or {name}, got %q", piece)
		}
	}
	return nil
}
