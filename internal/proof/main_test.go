package proof_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/sqltest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // the client logs every refused connection
	if text := os.Getenv(orderEnv); text != "" {
		os.Exit(beChild(text))
	}
	code := m.Run()
	if zooKeeper.server != nil {
		zooKeeper.server.Kill()
	}
	sqltest.StopShared()
	if err := etcd.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := os.RemoveAll(zooKeeper.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
