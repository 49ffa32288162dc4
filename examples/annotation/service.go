package shop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
)

// Service has its own Locker, which its methods use by default.
type Service struct {
	locker *distlock.Locker
	prices map[string]int

	mu      sync.Mutex
	journal []string
}

// NewService returns a Service with its locks in l.
func NewService(l *distlock.Locker) *Service {
	return &Service{locker: l, prices: map[string]int{}}
}

// note records an action, unless the lock was lost.
func (s *Service) note(ctx context.Context, what ...any) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = append(s.journal, fmt.Sprint(what...))
	return nil
}

// SKU is an article.
type SKU string

// User is locked by its ID. Other fields do not matter.
type User struct {
	ID   int64 `lock:"key"`
	Name string
}

// Order is a request with a user.
type Order struct {
	User  User
	Items []SKU
}

// reserve has one lock for each article.
//
//distlock:lock prefix:shop: value:stock paramLock
func (s *Service) reserve(ctx context.Context, sku SKU) error { return s.note(ctx, "reserved ", sku) }

// order is locked by a Go expression.
//
//distlock:lock prefix:shop: value:user key:o.User.ID
func (s *Service) order(ctx context.Context, at time.Time, o Order) (n int, text string, err error) {
	return len(o.Items), fmt.Sprint(o.User.Name, " at ", at.UTC()), s.note(ctx, "order of ", o.User.Name)
}

// profile is locked by the whole request; a tag selects the field that counts.
//
//distlock:lock prefix:shop: value:user param:u
func (s *Service) profile(ctx context.Context, u *User) error {
	return s.note(ctx, "profile of ", u.Name)
}

// move is locked by two of three parameters.
//
//distlock:lock prefix:shop: value:move param:from param:to minHold:100ms maxHold:1m
func (s *Service) move(ctx context.Context, from, to SKU, n int) error {
	return s.note(ctx, "moved ", n, " from ", from, " to ", to)
}

// price can run many times at once; raise runs alone.
//
//distlock:lock prefix:shop: value:prices mode:shared
func (s *Service) price(_ context.Context, sku string) (int, error) {
	price, ok := s.prices[sku]
	if !ok {
		return 0, fmt.Errorf("no price for %q", sku)
	}
	return price, nil
}

//distlock:lock prefix:shop: value:prices
func (s *Service) raise(_ context.Context, sku string, by int) error {
	s.prices[sku] += by
	return nil
}

// report runs at most three times at once, over all processes; further callers do not
// wait.
//
//distlock:lock prefix:shop: value:report permits:3 retryCount:1 as:NightlyReport
func (s *Service) report(ctx context.Context, run func(context.Context) error) error { return run(ctx) }

// invoice has a key from which the number cannot be guessed, and a token that fences
// off a paused writer.
//
//distlock:lock prefix:shop: value:invoice param:number hasher:hasher fencing keyTimeout:1m
func (s *Service) invoice(ctx context.Context, number string) (uint64, error) {
	lease, _ := distlock.FromContext(ctx)
	return lease.Token(), s.note(ctx, "invoice ", number)
}

var hasher = distlock.Keyed([]byte("an example: take yours from a store of secrets"))

// sorted is a generic function, with a lock for each type of list.
//
//distlock:lock prefix:shop: value:sort key:name(list) locker:s.locker
func sorted[S ~[]E, E cmp.Ordered](ctx context.Context, s *Service, list S) (S, error) {
	list = slices.Clone(list)
	slices.Sort(list)
	return list, s.note(ctx, "sorted ", name(list))
}

func name[S ~[]E, E any](list S) string { return fmt.Sprintf("%T", list) }

// Shelf is a generic type.
type Shelf[K comparable, V any] struct {
	locker *distlock.Locker
	things map[K]V
}

// swap stores v and returns the old value.
//
//distlock:lock prefix:shop: value:shelf param:k
func (s *Shelf[K, V]) swap(ctx context.Context, k K, v V) (old V, err error) {
	old, s.things[k] = s.things[k], v
	return old, context.Cause(ctx)
}
