package proof_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/child"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client logs every refused connection
	beChild()
	goleak.VerifyTestMain(child.Main{Tests: m})
}
