// Package luascript puts the Lua scripts of the backends together.
//
// A script is one file of an embedded file system, and the files that it includes.
// These lines direct this:
//
//	--- @include "includes/queue.lua"
//	--- @constants
//
// The first stands for the text of a file, whose path is relative to the file that has
// the line. A file is inserted once, at the first line that names it. The second stands
// for the constants that Go passes: one local for each that the script uses below the
// line.
//
// Comments that fill a line and leading blanks are not sent to the server. So a script has no
// long brackets.
package luascript

import (
	"context"
	"crypto/fips140"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// Script is a script for the server.
type Script struct {
	Name string // the path of its file

	source string
	hash   func() string
}

// Source returns the text that is sent to the server.
func (s *Script) Source() string { return s.source }

// Hash returns the name by which a server knows the script.
func (s *Script) Hash() string { return s.hash() }

// Run runs the script as [rediskit.Cmd], and returns the last command. It sends the
// hash, and the source only if the server answers that it does not know the hash.
func (s *Script) Run(ctx context.Context, c redis.UniversalClient, keys []string, args ...any) *rediskit.Cmd {
	cmd := command(ctx, "evalsha", s.hash(), keys, args)
	if redis.HasErrorPrefix(c.Process(ctx, cmd), "NOSCRIPT") {
		cmd = command(ctx, "eval", s.source, keys, args)
		_ = c.Process(ctx, cmd) // the command has the error, too
	}
	return cmd
}

// Call is one call of a script.
type Call struct {
	Keys []string
	Args []any
}

// RunAll runs the script once for each call, in a pipeline, and returns the last
// command of each. Each has an error of its own.
func (s *Script) RunAll(ctx context.Context, c redis.UniversalClient, calls []Call) []*rediskit.Cmd {
	cmds := make([]*rediskit.Cmd, len(calls))
	send := func(which []int, name, script string) {
		pipe := c.Pipeline()
		for _, i := range which {
			cmds[i] = command(ctx, name, script, calls[i].Keys, calls[i].Args)
			_ = pipe.Process(ctx, cmds[i]) // queues it
		}
		rediskit.Exec(ctx, pipe)
	}
	all := make([]int, len(calls))
	for i := range all {
		all[i] = i
	}
	send(all, "evalsha", s.hash())
	unknown := slices.DeleteFunc(all, func(i int) bool { return !redis.HasErrorPrefix(cmds[i].Err(), "NOSCRIPT") })
	if len(unknown) > 0 {
		send(unknown, "eval", s.source)
	}
	return cmds
}

func command(ctx context.Context, name, script string, keys []string, args []any) *rediskit.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, name, script, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	return rediskit.NewCmd(ctx, append(all, args...)...)
}

var loaded []*Script

// Loaded returns all scripts that were loaded, for the linter.
func Loaded() []*Script { return loaded }

// Load returns the script in the file name of fsys. It is for package variables: it
// panics if the script cannot be put together, and must not be called concurrently.
func Load(fsys fs.FS, name string, constants Constants) *Script {
	source, err := compose(fsys, name, constants)
	if err != nil {
		panic(fmt.Sprintf("luascript: %v", err))
	}
	s := &Script{Name: name, source: source, hash: sync.OnceValue(func() (hash string) {
		// SHA-1 is the name of a script here, and protects nothing: so it is not what
		// FIPS 140 forbids.
		fips140.WithoutEnforcement(func() { hash = redis.NewScript(source).Hash() })
		return hash
	})}
	loaded = append(loaded, s)
	return s
}
