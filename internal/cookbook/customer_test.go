package cookbook_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/cookbook"
)

// orders is the service. An order takes a second.
type orders struct {
	all gauge
	of  [4]gauge // of each customer
}

func (o *orders) place(ctx context.Context, request any) (any, error) {
	customer, err := strconv.Atoi(request.(*shopv1.PlaceOrderRequest).GetBuyer())
	if err != nil {
		return nil, err
	}
	o.all.begin()
	defer o.all.end()
	o.of[customer].begin()
	defer o.of[customer].end()
	time.Sleep(time.Second)
	lease, _ := distlock.FromContext(ctx)
	return &shopv1.PlaceOrderResponse{}, lease.Check()
}

// call calls the service as a server with the interceptor does.
func (o *orders) call(ctx context.Context, lock grpc.UnaryServerInterceptor, customer int) error {
	r := &shopv1.PlaceOrderRequest{Buyer: strconv.Itoa(customer)}
	_, err := lock(ctx, r, &grpc.UnaryServerInfo{FullMethod: shopv1.ShopService_PlaceOrder_FullMethodName}, o.place)
	return err
}

// TestCustomers: twelve orders of four customers arrive at three servers. Each customer
// has one order at a time, and the customers do not wait for each other.
func TestCustomers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, processes := newProcesses(t, 3)
		service := new(orders)
		var calls sync.WaitGroup
		start := time.Now()
		for _, l := range processes {
			lock := cookbook.LockCustomers(l, grpcmw.Fields("buyer"))
			for customer := range service.of {
				calls.Go(func() {
					if err := service.call(t.Context(), lock, customer); err != nil {
						t.Errorf("customer %d: %v", customer, err)
					}
				})
			}
		}
		calls.Wait()
		if took := time.Since(start); took != 3*time.Second || service.all.most.Load() != 4 {
			t.Errorf("%v, at most %d at once", took, service.all.most.Load())
		}
		for customer := range service.of {
			if g := &service.of[customer]; g.total.Load() != 3 || g.most.Load() != 1 {
				t.Errorf("customer %d: %d orders, at most %d at once", customer, g.total.Load(), g.most.Load())
			}
		}
	})
}

// TestAuthenticated: the customer is the authenticated one, whatever the request says.
func TestAuthenticated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, processes := newProcesses(t, 2)
		service := new(orders)
		lock := func(l *distlock.Locker, user string) grpc.UnaryServerInterceptor {
			return cookbook.LockCustomers(l, cookbook.Authenticated(func(context.Context) string { return user }))
		}
		start := time.Now()
		var calls sync.WaitGroup
		for i, l := range processes {
			calls.Go(func() {
				if err := service.call(t.Context(), lock(l, "ann"), i); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if took := time.Since(start); took != 2*time.Second || service.all.most.Load() != 1 {
			t.Errorf("%v, at most %d at once", took, service.all.most.Load())
		}
		if err := service.call(t.Context(), lock(processes[0], ""), 1); status.Code(err) != codes.InvalidArgument {
			t.Errorf("nobody: %v", err)
		}
	})
}
