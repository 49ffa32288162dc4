package echolock_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/labstack/echo/v5"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/echolock"
	"github.com/distlock-go/distlock/httpmw"
)

// Example locks a route of Echo by its path value.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	e := echo.New()
	e.POST("/orders/:id/pay", func(c *echo.Context) error {
		lease, _ := distlock.FromContext(c.Request().Context())
		return c.String(http.StatusOK, fmt.Sprint("paid with a lock: ", lease.Check() == nil))
	}, echolock.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}))
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/orders/42/pay", http.NoBody))
	fmt.Println(w.Code, w.Body)
	// Output: 200 paid with a lock: true
}
