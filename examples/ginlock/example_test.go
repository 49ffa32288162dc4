package ginlock_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/ginlock"
	"github.com/distlock-go/distlock/httpmw"
)

// Example locks a route of gin by its parameter.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	lock := httpmw.Lock(locker, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1})
	r.POST("/orders/:id/pay", ginlock.Use(lock), func(c *gin.Context) {
		lease, _ := distlock.FromContext(c.Request.Context())
		c.String(http.StatusOK, "paid with a lock: %t", lease.Check() == nil)
	})
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/orders/42/pay", http.NoBody))
	fmt.Println(w.Code, w.Body)
	// Output: 200 paid with a lock: true
}
