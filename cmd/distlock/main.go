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
	"log"
	"log/slog"
	"os"
)

func main() {
	slog.SetLogLoggerLevel(slog.LevelWarn) // the clients of stores log each connection
	log.SetOutput(newHider(os.Stderr, os.Args))
	os.Exit(execute(context.Background(), os.Args, os.Stdout, os.Stderr))
}
