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

// route is a line of the table of routes and their locks.
type route struct {
	method, pattern string

	// lock is the name of the wildcard whose value is locked, or unlocked. It is
	// required: a forgotten lock would be noticed too late.
	lock string

	// before runs before the lock is taken, unless it is nil.
	before func(http.Handler) http.Handler

	handle http.HandlerFunc
}

// unlocked is the lock of a route without a lock. A wildcard cannot have this name.
const unlocked = "-"

func (rt route) String() string { return rt.method + " " + rt.pattern }

// mount checks the whole table and adds its routes to r, each with its lock. The error
// contains all mistakes.
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

// checkRoutes finds mistakes that only a request would show, or that nothing would
// show.
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

// methods are the allowed methods.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut}

// checkPattern refuses the parts of chi's patterns that the shop does not need: regular
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
