// Command distlock runs a command under a lock that holds across machines, for
// cron jobs and build steps; it lists locks, and takes one from a holder that is
// stuck.
//
//	export DISTLOCK_BACKEND=redis://127.0.0.1:6379/0
//	distlock run -key deploy -- ./deploy.sh production
//	distlock run -key nightly -wait 0 -E 0 -min-hold 10m -- ./report.sh
//	distlock ls
//	distlock release -force -key deploy
//
// Each command says with -help what its flags mean. README.md beside this file
// has the exit codes, and what becomes of the command when the lock is lost.
package main

import (
	"context"
	"log/slog"
	"os"
)

func main() {
	slog.SetLogLoggerLevel(slog.LevelWarn) // the clients of stores tell of each connection
	os.Exit(execute(context.Background(), os.Args, os.Stdout, os.Stderr))
}
