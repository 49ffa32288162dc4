package proof_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/sqltest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // the client logs every refused connection
	beChild()
	code := m.Run()
	sqltest.StopShared()
	if err := errors.Join(zooKeeper.Close(), etcd.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
