package hertzlock_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/ut"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/hertzlock"
	"github.com/distlock-go/distlock/httpmw"
)

// Example locks a route of Hertz by its parameter.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	h := server.New()
	lock := httpmw.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1})
	h.POST("/orders/:id/pay", hertzlock.Use(lock), func(ctx context.Context, c *app.RequestContext) {
		lease, _ := distlock.FromContext(ctx)
		c.String(http.StatusOK, "paid with a lock: %t", lease.Check() == nil)
	})
	got := ut.PerformRequest(h.Engine, http.MethodPost, "/orders/42/pay", nil).Result()
	fmt.Println(got.StatusCode(), string(got.Body()))
	// Output: 200 paid with a lock: true
}
