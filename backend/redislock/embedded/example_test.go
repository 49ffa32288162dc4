package embedded_test

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/backend/redislock/embedded"
)

// A Redis without a server: leases expire by themselves.
func Example() {
	srv := embedded.Start()
	defer srv.Close()

	ctx := context.Background()
	rdb := srv.Client()
	rdb.Set(ctx, "greeting", "hello", time.Minute)
	fmt.Println(rdb.Get(ctx, "greeting").Val())
	fmt.Println(rdb.TTL(ctx, "greeting").Val() > 0)
	// Output:
	// hello
	// true
}
