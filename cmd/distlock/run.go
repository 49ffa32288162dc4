package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
)

const runHelp = `The command starts when the lock is held, with DISTLOCK_KEY and DISTLOCK_TOKEN in its environment but
without DISTLOCK_BACKEND, and the lock is released when it has ended. Without the lock it does not run.

The exit code is the command's own, or 128+n if signal n ended it. Otherwise:
  1    another holder has the key (-E changes that)
  64   a mistake on the command line
  69   the store of the locks could not be reached, or failed: the command did not run
  70   the lock was lost: the command was stopped, or ended before the loss was known
  71   the command could not be started
  126  the command is not executable       127  there is no such command

If the lock cannot be renewed, it ends LEASE after the last renewal began, and by then the command must
be dead. Values of -on-lost:
  kill    SIGKILL when a tenth of the lease is left
  term    SIGTERM, -grace before that, then SIGKILL
  ignore  a warning only: two commands may run at once
If the store reports that another holder has the key (after distlock release -force), kill kills at once,
and term gives the command its grace, but not beyond the lease.

Signals are forwarded to the command and to all processes in its process group. When the command has
ended, the rest of the group gets SIGTERM, and after -grace SIGKILL; then the lock is released. For
more see README.md in cmd/distlock.`

func runCommand(args []string, stderr io.Writer) *cli.Command {
	stopOn := 1
	r := &runner{stderr: stderr, opts: distlock.Opts{KeyTimeout: distlock.DefaultKeyTimeout, RetryInterval: distlock.DefaultRetryInterval}}
	return &cli.Command{
		Name:         "run",
		Usage:        "run a command under a lock",
		Description:  runHelp,
		UsageText:    "distlock run -key deploy [flags] -- command [arguments]",
		StopOnNthArg: &stopOn,
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "key", Usage: "the `KEY` of the lock"},
			&cli.IntFlag{Name: "E", Aliases: []string{"conflict-exit-code"}, Value: exitConflict, Destination: &r.conflict,
				Usage: "exit with `CODE` if another holder has the key; 0 if that is fine"},
			&cli.StringFlag{Name: "on-lost", Value: onLostKill, Destination: &r.onLost, Usage: "what to do if the lock is lost: kill, term or ignore"},
			&cli.DurationFlag{Name: "grace", HideDefault: true, Destination: &r.grace,
				Usage: "`TIME` between SIGTERM and SIGKILL, at most a third of the lease (default: a quarter)"},
			&cli.BoolFlag{Name: "revocable", Destination: &r.revocable, Usage: "send SIGTERM to the command when distlock release -ask asks for the lock"},
			&cli.BoolFlag{Name: "v", Destination: &r.verbose, Usage: "report the beginning of the wait, the acquisition and the release"},
		}, lockFlags(&r.opts)),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := r.parse(c, args); err != nil {
				return err
			}
			return withLocker(ctx, c, func(locker *distlock.Locker) error { return r.run(ctx, locker) })
		},
	}
}

// runner is a call of distlock run.
type runner struct {
	stderr    io.Writer
	verbose   bool
	revocable bool
	key       string
	opts      distlock.Opts
	conflict  int
	onLost    string
	grace     time.Duration
	path      string // of the program
	argv      []string
}

const minLease = time.Second // starting and killing processes takes a part of the lease

// parse takes what the flags have not set in r, and checks it.
func (r *runner) parse(c *cli.Command, args []string) (err error) {
	if r.key, err = keyFlag(c); err != nil {
		return err
	}
	r.argv = c.Args().Slice()
	lease := r.opts.KeyTimeout
	if !c.IsSet("grace") {
		r.grace = lease / 4
	}
	if c.IsSet("wait") && r.opts.MaxWait == 0 {
		r.opts.RetryCount = 1
	}
	margin := lease / 10 // before the end of the lease, when the command is stopped
	if r.onLost == onLostTerm {
		margin += r.grace
	}
	switch {
	case !behindDashes(args, r.argv):
		return usageErrorf("the command must come after --: distlock run -key %s -- command", printable(r.key))
	case len(r.argv) == 0:
		return usageErrorf("there is no command after --")
	case r.conflict < 0 || r.conflict > 255:
		return usageErrorf("-E is %d: want 0 to 255", r.conflict)
	case lease < minLease:
		return usageErrorf("-lease is %v: want at least %v", lease, minLease)
	case r.onLost != onLostKill && r.onLost != onLostTerm && r.onLost != onLostIgnore:
		return usageErrorf("-on-lost is %q: want kill, term or ignore", r.onLost)
	case r.grace < 0 || r.grace > lease/3:
		return usageErrorf("-grace is %v: want 0 to %v, a third of the lease", r.grace, lease/3)
	case r.opts.Permits > 0 && r.opts.Mode == distlock.Shared:
		return usageErrorf("-permits and -shared exclude each other")
	case r.opts.MaxHold != 0 && r.opts.MaxHold < max(minLease, 2*margin):
		return usageErrorf("-max-hold is %v: want at least %v, because the command is stopped %v before", r.opts.MaxHold, max(minLease, 2*margin), margin)
	}
	// Look the program up before waiting for the lock.
	r.path, err = exec.LookPath(r.argv[0])
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return &exitError{exitNotExec, err}
	case err != nil:
		return &exitError{exitNotFound, err}
	}
	return nil
}

// behindDashes reports whether argv is what follows the first "--" of args. Otherwise
// it may contain flags of distlock that follow the command.
func behindDashes(args, argv []string) bool {
	i := slices.Index(args, "--")
	return i < 0 && len(argv) == 0 || len(args)-i-1 == len(argv)
}

func (r *runner) run(ctx context.Context, locker *distlock.Locker) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a warning without a reader must not end this process and leave the command
	signals := make(chan os.Signal, 16)                     // before, a signal ends this process
	notify(signals, endingSignals)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lease, err := r.acquire(ctx, cancel, locker, signals)
	if err != nil {
		return err
	}
	code, lost := r.underLock(lease, signals)
	if code = r.giveBack(ctx, lease, code, lost); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// giveBack releases the lease of a command that has ended. It returns the exit code, in
// which a loss that was not known before counts.
func (r *runner) giveBack(ctx context.Context, lease *distlock.Lease, code int, lost error) int {
	err := lease.Release(ctx)
	switch {
	case lost != nil: // it was reported when it happened
	case errors.Is(err, distlock.ErrLost):
		r.warn("the lock was lost before the command had ended: %v", err)
		if code == exitOK && r.onLost != onLostIgnore {
			code = exitLost
		}
	case err != nil:
		r.warn("the lock ends by itself in at most %v: %v", r.opts.KeyTimeout, err)
	default:
		r.tell("gave %s back", printable(r.key))
	}
	return code
}

// acquire waits for the lock until the limit has passed or a signal comes.
//
// The context is also the lease's context: only a signal cancels it.
func (r *runner) acquire(
	ctx context.Context, cancel context.CancelCauseFunc, locker *distlock.Locker, signals <-chan os.Signal,
) (*distlock.Lease, error) {
	type result struct {
		lease *distlock.Lease
		err   error
	}
	results := make(chan result, 1)
	start := time.Now()
	r.tell("wait for %s", printable(r.key))
	go func() {
		s, err := locker.Acquire(ctx, r.key, r.opts)
		results <- result{s, err}
	}()
	var got result
	select {
	case got = <-results:
	case s := <-signals:
		end := &exitError{code: exitSignal + number(s)}
		cancel(end)
		if got = <-results; got.err == nil { // the signal came at the same time
			_ = got.lease.Release(ctx) // the Locker retries a failed release until it is closed
		}
		return nil, end
	}
	switch {
	case got.err == nil:
		r.tell("got %s after %v, token %d", printable(r.key), time.Since(start).Round(time.Millisecond), got.lease.Token())
		return got.lease, nil
	case errors.Is(got.err, distlock.ErrUnavailable):
		return nil, got.err
	case errors.Is(got.err, distlock.ErrNotAcquired):
		return nil, r.refuse(got.err)
	default:
		return nil, inFlags(got.err)
	}
}

// refuse reports that another holder has the key, or another kind of lock, with details from
// the store. If that is not an error it prints them only with -v: cron sends a mail for any
// output.
func (r *runner) refuse(why error) error {
	err := fmt.Errorf("another holder has %s", printable(r.key))
	foreign := errors.Is(why, distlock.ErrForeign)
	if foreign {
		const kind = "held by another kind of lock"
		_, which, _ := strings.Cut(why.Error(), kind)
		err = fmt.Errorf("%s is %s%s", printable(r.key), kind, which)
	}
	if held, ok := errors.AsType[*distlock.HeldError](why); ok {
		err = fmt.Errorf("%w: %s", err, strings.TrimPrefix(held.Error(), distlock.ErrNotAcquired.Error()+": "))
	}
	if r.opts.MaxWait > 0 {
		err = fmt.Errorf("%w: waited for %v", err, r.opts.MaxWait)
	}
	if r.conflict == exitOK {
		if foreign { // it may stay for ever
			r.warn("%v", err)
		} else {
			r.tell("%v", err)
		}
		return &exitError{code: exitOK}
	}
	return &exitError{r.conflict, err}
}

// underLock runs the command and returns its exit code and, if it was stopped because
// of the lock, the reason.
func (r *runner) underLock(lease *distlock.Lease, signals chan os.Signal) (code int, lost error) {
	refreshShort(lease, r.opts.KeyTimeout)
	if err := lease.Check(); err != nil {
		r.warn("the command was not started: %v", err)
		return exitUnavailable, err
	}
	cmd := &exec.Cmd{Path: r.path, Args: r.argv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	cmd.Env = environment(lease)
	p, err := startProcess(cmd, signals)
	if err != nil {
		r.warn("%v", err)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) {
			return exitNotExec, nil
		}
		return exitOS, nil
	}
	return r.guard(lease, p, p.changes).watch(signals)
}

// guard returns the guard of a command that has started under the lease.
func (r *runner) guard(lease *distlock.Lease, process group, changes <-chan change) *guard {
	g := &guard{
		lease: lease, process: process, changes: changes,
		onLost: r.onLost, grace: r.grace, reserve: r.opts.KeyTimeout / 10, warn: r.warn,
	}
	if r.revocable {
		g.revoked = lease.Revoked()
	}
	return g
}

// environment returns the environment of the command: what this process has, without the URL
// of the store. It may contain a password, which the command would print or pass on.
func environment(lease *distlock.Lease) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.EqualFold(name, backendEnv) // names are case-insensitive on Windows
	})
	return append(env, "DISTLOCK_KEY="+lease.Key(), "DISTLOCK_TOKEN="+strconv.FormatUint(lease.Token(), 10))
}

func (r *runner) warn(format string, args ...any) {
	_, _ = fmt.Fprintln(r.stderr, "distlock: "+oneLine(fmt.Sprintf(format, args...)))
}

func (r *runner) tell(format string, args ...any) {
	if r.verbose {
		r.warn(format, args...)
	}
}
