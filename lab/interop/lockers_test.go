package interop_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
)

// locker returns the Locker for a kind of lock. Some kinds share one.
func (a *agent) locker(kind string) (*distlock.Locker, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	library, sort, _ := strings.Cut(kind, ".")
	switch sort {
	case "shared", "permits":
		sort = "lock"
	case "read":
		sort = "write"
	}
	name := library + "." + sort
	if l, ok := a.lockers[name]; ok {
		return l, nil
	}
	b, err := a.backend(name)
	if err != nil {
		return nil, err
	}
	a.lockers[name] = distlock.New(b, distlock.Config{})
	return a.lockers[name], nil
}

func (a *agent) backend(name string) (driver.Backend, error) {
	const claim = 5 * time.Second // for a machine that is too busy
	switch name {
	case "redislock.lock":
		return redislock.New(a.redis, redislock.Config{ClaimWindow: claim}), nil
	case "redislock.free":
		return redislock.New(a.redis, redislock.Config{ClaimWindow: claim, FreeRelease: true}), nil
	case "redissonlock.lock":
		return redissonlock.New(a.redis, redissonlock.Config{}), nil
	case "zklock.lock":
		return zklock.New([]string{a.zooKeeper}, zklock.Config{SessionTimeout: a.lease})
	case "zklock.write":
		return zklock.New([]string{a.zooKeeper}, zklock.Config{SessionTimeout: a.lease, Names: zklock.ReadWriteNames})
	}
	return nil, fmt.Errorf("no library %s", name)
}
