package httpmw_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/httpmw"
)

// ExampleSendTickets has a service work under the lock of its caller. With a database it calls
// Check of package fence.
func ExampleSendTickets() {
	boundary := fence.Signed([]byte("0123456789abcdef0123456789abcdef")) // a secret of both services

	var seen uint64
	reserve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ticket, ok := fence.FromContext(r.Context(), "shop:stock:tea")
		if !ok {
			httpmw.WriteError(w, r, fence.ErrNoTicket)
			return
		}
		if ticket.Token() < seen {
			httpmw.WriteError(w, r, fence.ErrStale)
			return
		}
		seen = ticket.Token()
		fmt.Fprint(w, "reserved under ", ticket.Key())
	})
	warehouse := httptest.NewServer(httpmw.ReceiveTickets(boundary)(reserve))
	defer warehouse.Close()

	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	client := &http.Client{Transport: httpmw.SendTickets(nil, boundary)}
	call := func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, warehouse.URL, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		fmt.Println(resp.Status)
		return nil
	}
	err := locker.Do(context.Background(), "stock:tea", distlock.Opts{Prefix: "shop:", Fencing: true}, call)
	fmt.Println(err)
	_ = call(context.Background()) // without the lock
	client.CloseIdleConnections()
	// Output:
	// 200 OK
	// <nil>
	// 403 Forbidden
}
