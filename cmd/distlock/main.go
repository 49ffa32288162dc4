// Command distlock runs a command under a lock that is shared by several machines, for
// cron jobs and build steps. It also lists locks, takes a lock away from a holder that is
// stuck, and examines the store.
//
//	export DISTLOCK_BACKEND=redis://127.0.0.1:6379/0
//	distlock run -key deploy -- ./deploy.sh production
//	distlock run -key nightly -wait 0 -E 0 -min-hold 10m -- ./report.sh
//	distlock claim -key deploy -lease 10m
//	distlock ls
//	distlock key -prefix shop: -value pay 42
//	distlock release -ask -key deploy
//	distlock release -force -key deploy
//	distlock doctor
//
// The option -help of each command describes its flags. README.md in this directory
// describes the exit codes, and what happens to the command when the lock is lost.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock/internal/version"
)

// execute is the program without the parts that belong to the process. It returns the
// exit code. An error is one line on stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	hidden := newHider(stderr, args)
	stderr = hidden
	err := newApp(args, stdout, hidden).Run(ctx, args)
	if err == nil {
		return exitOK
	}
	code, silent := exitCode(err)
	if !silent {
		_, _ = fmt.Fprintln(stderr, "distlock: "+strings.TrimPrefix(oneLine(err.Error()), "distlock: "))
	}
	return code
}

func newApp(args []string, stdout io.Writer, stderr *hider) *cli.Command {
	app := &cli.Command{
		Name:  "distlock",
		Usage: "run a command under a lock that several machines share",
		Commands: []*cli.Command{
			runCommand(args, stderr),
			lsCommand(stdout),
			claimCommand(stdout, stderr),
			renewCommand(stdout),
			releaseCommand(stdout),
			keyCommand(stdout),
			doctorCommand(stdout, stderr.hide),
		},
		Flags: []cli.Flag{
			backendFlag(),
			&cli.BoolFlag{Name: "version", HideDefault: true, Local: true, Usage: "print the version"},
		},
		EnableShellCompletion: true,
		ConfigureShellCompletionCommand: func(c *cli.Command) {
			c.Hidden = false
			c.Usage = "print the completion script for bash, zsh, fish or pwsh"
		},
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return usageErrorf("there is no command %q (distlock -help lists them)", c.Args().First())
			}
			if c.Bool("version") {
				_, err := io.WriteString(stdout, version.Line(c.Name))
				return err
			}
			return cli.ShowRootCommandHelp(c)
		},
		Writer:    stdout,
		ErrWriter: stderr,
		// By default the package exits in some cases.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
	}
	for _, c := range append(app.Commands, app) {
		c.HideHelpCommand = true // "help" after the -- of run is a user's program
		// By default the package prints the whole help text after each error.
		c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
			return usageErrorf("%w (%s -help lists the flags)", err, c.FullName())
		}
	}
	return app
}

func main() {
	slog.SetLogLoggerLevel(slog.LevelWarn) // the clients of stores log each connection
	log.SetOutput(newHider(os.Stderr, os.Args))
	os.Exit(execute(context.Background(), os.Args, os.Stdout, os.Stderr))
}
