package shop

import (
	"context"
	"sync/atomic"
	"time"
)

// Counter is the load test of the annotation that this kit answers: i is counted
// under the lock, j without. There it is
//
//	@DistributedLock(prefix="my-", value="test", keyTimeout=3000, retryCount=0, paramLock=true, retryInterval=200)
//	public void test(String name, int number, Object o)
type Counter struct {
	I     map[string]*int // by name: the lock alone guards it
	J     atomic.Int64
	Think time.Duration // between reading and writing
}

//distlock:lock prefix:my- value:test keyTimeout:3s retryCount:0 paramLock retryInterval:200ms locker:locker
func (c *Counter) test(ctx context.Context, name string, number int, o any) error {
	i, j := *c.I[name], c.J.Load()
	select {
	case <-time.After(c.Think):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	*c.I[name] = i + 1
	c.J.Store(j + 1)
	return nil
}
