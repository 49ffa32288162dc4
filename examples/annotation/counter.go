package shop

import (
	"context"
	"sync/atomic"
	"time"
)

// Counter is the load test of an existing annotation, which reads
//
//	@DistributedLock(prefix="my-", value="test", keyTimeout=3000, retryCount=0, paramLock=true, retryInterval=200)
//	public void test(String name, int number, Object o)
type Counter struct {
	I     map[string]*int // by name; only the lock protects them
	J     atomic.Int64
	Think time.Duration // between reading and writing
}

// test counts i under the lock.
//
//distlock:lock prefix:my- value:test keyTimeout:3s retryCount:0 paramLock retryInterval:200ms locker:locker
func (c *Counter) test(_ context.Context, name string, _ int, _ any) error {
	i := *c.I[name]
	c.think()
	*c.I[name] = i + 1
	return nil
}

// Free counts j without a lock.
func (c *Counter) Free() {
	j := c.J.Load()
	c.think()
	c.J.Store(j + 1)
}

func (c *Counter) think() {
	if c.Think > 0 {
		<-time.After(c.Think)
	}
}
