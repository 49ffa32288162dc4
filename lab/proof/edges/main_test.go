package edges_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client logs every broken connection
	testmode.AtATime(4)
	os.Exit(m.Run())
}
