package sqllock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/driver"
)

// Of a key with many readers and many waiters, Inspect counts all and reads as many as
// it lists.
func TestInspectLongQueue(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		db, b := of.pool(t), of.open(t)
		const readers, waiters = 300, 2000
		for _, key := range []string{"a", "crowded", "z"} { // one waiter for each but the second
			var rows []string
			add := func(owner string, ticket, sharing, token int, expires int64) {
				rows = append(rows, fmt.Sprintf("('%s', '%s', %d, %d, 0, %d, %d, %d)", key, owner, ticket, sharing, token, 7_000_000+ticket, expires))
			}
			now := time.Now().UnixMicro()
			for i := range waiters {
				if i == 0 || key == "crowded" {
					add(fmt.Sprintf("%s@web-%d", uuid.NewString(), i), readers+i, i%3, 0, now)
					add(fmt.Sprintf("%s@dead-%d", uuid.NewString(), i), readers, 0, 0, now-61e6)
				}
			}
			for i := range readers {
				if key == "crowded" {
					add(fmt.Sprintf("%s@reader-%d", uuid.NewString(), i), i, -1, 1+i, now+3600e6-int64(i)*1e6)
					add(fmt.Sprintf("%s@late-%d", uuid.NewString(), i), i, -1, 1+i, now-1)
				}
			}
			exec(t, db, fmt.Sprintf("INSERT INTO distlock (lock_key, owner, prior_token, token, since, expires, busy) VALUES ('%s', '', 0, 1, 0, 0, %d)", key, len(rows)))
			exec(t, db, "INSERT INTO distlock_member (lock_key, owner, ticket, sharing, prior_token, token, since, expires) VALUES "+strings.Join(rows, ", "))
		}
		infos, err := b.Inspect(t.Context(), "", 10)
		if err != nil || len(infos) != 3 || infos[0].Waiting != 1 || infos[2].Waiting != 1 || infos[2].Held != 0 {
			t.Fatalf("listed %+v, %v", infos, err)
		}
		info := infos[1]
		if info.Held != readers || len(info.Holders) != driver.MaxHolderInfos || info.Waiting != waiters || len(info.Waiters) != driver.MaxWaiterInfos {
			t.Errorf("%d of %d holders, %d of %d waiters", len(info.Holders), info.Held, len(info.Waiters), info.Waiting)
		}
		if h := info.Holders; info.Mode != driver.Shared || h[0].Holder != "reader-299" || h[99].Holder != "reader-200" {
			t.Errorf("holders of %s from %+v to %+v", info.ModeName(), h[0], h[99])
		}
		for i, w := range info.Waiters {
			if w.Waiter != fmt.Sprint("web-", i) || w.Permits != i%3 || w.Since.UnixMicro() != int64(7_000_000+readers+i) {
				t.Errorf("place %d: %+v", i+1, w)
			}
		}
		if n, err := b.Listed(t.Context(), ""); n != driver.MaxHolderInfos+driver.MaxWaiterInfos+2 || err != nil {
			t.Errorf("%d members were read, %v", n, err)
		}
		var held []string
		for i := range 250 { // more than a page
			held = append(held, fmt.Sprintf("('page%d', 'owner', 0, 1, 0, %d, 0)", i, time.Now().Add(time.Hour).UnixMicro()))
		}
		exec(t, db, "INSERT INTO distlock (lock_key, owner, prior_token, token, since, expires, busy) VALUES "+strings.Join(held, ", "))
		if infos, err := b.Inspect(t.Context(), "page", 1000); len(infos) != len(held) || err != nil {
			t.Errorf("%d of %d keys are listed, %v", len(infos), len(held), err)
		}
	})
}
