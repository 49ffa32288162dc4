package proof_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/sqltest"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client logs every refused connection
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
