package weave

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/optfield"
)

// declared are the directives of woven functions, by the text that Declare got, which is
// a constant of the program. There are no more of them than functions.
var declared struct {
	mu    sync.Mutex // for writers
	sites atomic.Pointer[map[string]*site]
}

// site is a directive.
type site struct {
	*distlock.Site
	hasher distlock.Hasher
	format distlock.KeyFormat
}

// Declare makes the directive of a woven function known. Woven code calls it when the
// program starts, before it calls Enter with the same text: the name of the function,
// and on a line each its options as name:value. The text also has the options that only
// the weaver can read, because they make a difference: part, once for each parameter or
// expression in the key, hasher, with the value h, and keyFormat, with the value f. Declare
// panics if an option is unknown or invalid.
func Declare(text string, h distlock.Hasher, f distlock.KeyFormat) *distlock.Site {
	name, o, err := parse(text)
	name = prefix + name
	if err != nil {
		panic("distlock: " + name + ": " + err.Error())
	}
	o.Hasher, o.KeyFormat = h, f
	declared.mu.Lock()
	defer declared.mu.Unlock()
	if s := find(text); s != nil {
		if !reflect.DeepEqual(s.hasher, h) || s.format != nil || f != nil {
			panic("distlock: " + name + ": there are two such functions, and their hashers or key formats may differ: name the value another way")
		}
		return s.Site
	}
	s := &site{distlock.NewSite(name, o), h, f}
	all := map[string]*site{text: s}
	if known := declared.sites.Load(); known != nil {
		maps.Copy(all, *known)
	}
	declared.sites.Store(&all)
	return s.Site
}

// prefix is in front of the name of a function in errors.
const prefix = "//distlock:lock on "

// parse reads what Declare gets.
func parse(text string) (name string, o distlock.Opts, err error) {
	name, rest, _ := strings.Cut(text, "\n")
	seen := map[string]bool{}
	for line := range strings.Lines(rest) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if key != "part" && seen[key] {
			return name, o, fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		switch known, ok := optfield.ByDirective(key); {
		case key == "part", key == "hasher", key == "keyFormat":
		case !ok:
			return name, o, fmt.Errorf("unknown option %s", key)
		case value == "" && !known.IsBool():
			return name, o, fmt.Errorf("%s has no value: write %s:…", key, key)
		default:
			if err := known.Set(&o, value); err != nil {
				return name, o, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	if seen["part"] {
		if seen["paramLock"] && !o.ParamLock {
			return name, o, errors.New("paramLock is false but param or key is given")
		}
		o.ParamLock = true
	}
	return name, o, nil
}

// Options has the options of a directive as fields. Woven code names those that it
// has, so that an unknown option does not compile.
type Options = distlock.Opts

// Enter takes l's lock for params, at the beginning of the woven function that was
// declared as text. The function runs under the returned context, and defers [Leave].
// If there is an error, the function must not run. The lease is nil if no lock is
// needed: see [distlock.Skip].
func Enter(ctx context.Context, l *distlock.Locker, text string, params any) (context.Context, *distlock.Lease, error) {
	s := find(text)
	if s == nil {
		name, _, _ := strings.Cut(text, "\n")
		return ctx, nil, refuse(name, "it is called before the variables of its package are set")
	}
	if _, none := params.(nothing); none {
		name, _, _ := strings.Cut(text, "\n")
		return ctx, nil, refuse(name, "paramLock: it has no parameters that could take part in the key")
	}
	if params == distlock.Skip {
		return ctx, nil, nil
	}
	lease, err := s.On(l).Acquire(ctx, params)
	if err != nil {
		return ctx, nil, err
	}
	ctx = lease.Context()
	return ctx, lease, nil
}

// Leave releases the lease of [Enter] when the woven function returns, panics or exits,
// and joins the lock's error, if any, to the function's. The function defers it with the
// address of its result. It does nothing if the lease is nil.
func Leave(lease *distlock.Lease, err *error) {
	if lease == nil {
		return
	}
	switch lockErr := lease.Release(lease.Context()); {
	case lockErr == nil:
	case *err == nil:
		*err = lockErr
	default:
		*err = fmt.Errorf("%w; %w", *err, lockErr)
	}
}

func refuse(name, why string) error {
	return &distlock.Error{Op: "options", Err: errors.New(prefix + name + ": " + why)}
}

func find(text string) *site {
	if sites := declared.sites.Load(); sites != nil {
		return (*sites)[text]
	}
	return nil
}

// nothing is the value of a parameter that takes no part in the key.
type nothing struct{}

// Param returns v for [Params]. Contexts take no part in keys. Whether v is a context
// depends on the type of the parameter, T, as in the tools that do not weave.
func Param[T any](v T) any {
	if _, is := any((*T)(nil)).(*context.Context); is {
		return nothing{}
	}
	return v
}

// Params returns the parameters for [Enter] of a function with all its parameters in
// the key: one as it is, several as a list.
func Params(params ...any) any {
	n := 0
	for _, p := range params {
		if _, none := p.(nothing); !none {
			params[n] = p
			n++
		}
	}
	switch n {
	case 0:
		return nothing{}
	case 1:
		return params[0]
	default:
		return params[:n]
	}
}
