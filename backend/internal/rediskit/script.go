package rediskit

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Script is a Lua script that is sent as [Cmd].
type Script struct{ source, hash string }

// NewScript returns the script with this source.
func NewScript(source string) *Script {
	return &Script{source, redis.NewScript(source).Hash()}
}

// Hash returns the hash of the source.
func (s *Script) Hash() string { return s.hash }

// Run runs the script once, and returns its last command. It sends the hash, and the
// source only if the server does not know the hash.
func (s *Script) Run(ctx context.Context, c redis.UniversalClient, keys []string, args ...any) *Cmd {
	cmd := s.command(ctx, "evalsha", s.hash, keys, args)
	if redis.HasErrorPrefix(c.Process(ctx, cmd), "NOSCRIPT") {
		cmd = s.command(ctx, "eval", s.source, keys, args)
		_ = c.Process(ctx, cmd) // the command has the error, too
	}
	return cmd
}

func (*Script) command(ctx context.Context, name, script string, keys []string, args []any) *Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, name, script, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	return NewCmd(ctx, append(all, args...)...)
}
