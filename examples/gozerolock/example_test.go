package gozerolock_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/gozerolock"
	"github.com/distlock-go/distlock/httpmw"
)

// Example locks a route of go-zero by its path variable.
func Example() {
	logx.Disable()
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	lock := gozerolock.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1})
	server := rest.MustNewServer(rest.RestConf{})
	server.AddRoutes(rest.WithMiddleware(lock, rest.Route{
		Method: http.MethodPost, Path: "/orders/:id/pay",
		Handler: func(w http.ResponseWriter, r *http.Request) {
			lease, _ := distlock.FromContext(r.Context())
			httpx.OkJsonCtx(r.Context(), w, fmt.Sprint("paid with a lock: ", lease.Check() == nil))
		},
	}))
	built, err := rest.NewServerless(server)
	if err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	built.Serve(w, httptest.NewRequest(http.MethodPost, "/orders/42/pay", http.NoBody))
	fmt.Println(w.Code, w.Body)
	// Output: 200 "paid with a lock: true"
}
