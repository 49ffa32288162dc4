package sqllock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// sessions returns the other sessions of the database, or only the ones that wait for a
// lock.
func (of *store) sessions(t *testing.T, waiting bool) []string {
	t.Helper()
	query := "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	only := " AND wait_event_type = 'Lock'"
	if of.dialect == sqllock.MySQL {
		query = "SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()"
		only = " AND command <> 'Sleep' AND time_ms > 50"
	}
	if waiting {
		query += only
	}
	return strings.Fields(of.server.Exec(t, of.name, query))
}

// TestLateAttempt: the connection breaks before an attempt has an answer, and its
// caller releases the owner. The attempt arrives afterwards. It takes the key for
// nobody.
func TestLateAttempt(t *testing.T) {
	for name, exists := range map[string]bool{"of a key with a row": true, "of a new key": false} {
		t.Run(name, func(t *testing.T) {
			eachShared(t, func(t *testing.T, of *store) {
				others := len(of.sessions(t, false))
				b, n := of.over(t, patience)
				r := request("key", time.Minute)
				first := request("first", time.Minute)
				if exists {
					first.Key = r.Key
				}
				testkit.MustRelease(t, b, testkit.MustTry(t, b, first))

				n.HoldAt(func(p []byte) bool { return strings.Contains(string(p), r.Owner) })
				done := make(chan error, 1)
				go func() {
					_, err := b.TryAcquire(t.Context(), r)
					done <- err
				}()
				testkit.Eventually(t, "the attempt is held back", func() bool { return n.Held() == 1 })
				n.Break()
				if err := <-done; !unknown(err) {
					t.Errorf("TryAcquire without an answer: %v", err)
				}
				testkit.MustRelease(t, b, r.Grant())
				if err := n.Deliver(); err != nil {
					t.Fatal(err)
				}
				n.Kill()
				testkit.Eventually(t, "the attempt has ended", func() bool { return len(of.sessions(t, false)) == others })

				peer := of.open(t)
				testkit.MustRelease(t, peer, testkit.MustTry(t, peer, request("key", time.Minute)))
				if got := scan(t, of.pool(t), "SELECT count(*) FROM distlock_member WHERE token = -1"); got != "1" {
					t.Errorf("%s tombstones", got)
				}
			})
		})
	}
}
