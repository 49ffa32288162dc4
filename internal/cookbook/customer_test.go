package cookbook_test

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/example_service/shopv1"
	"github.com/distlock-go/distlock/grpcmw"
	"github.com/distlock-go/distlock/internal/cookbook"
)

// orders is the service. An order takes a second.
type orders struct {
	shopv1.UnimplementedShopServiceServer
	all gauge
	of  [4]gauge // of each customer
}

func (o *orders) PlaceOrder(ctx context.Context, r *shopv1.PlaceOrderRequest) (*shopv1.PlaceOrderResponse, error) {
	customer, err := strconv.Atoi(r.GetBuyer())
	if err != nil {
		return nil, err
	}
	o.all.begin()
	defer o.all.end()
	o.of[customer].begin()
	defer o.of[customer].end()
	time.Sleep(time.Second)
	lease, _ := distlock.FromContext(ctx)
	return &shopv1.PlaceOrderResponse{OrderId: int64(o.all.total.Load())}, lease.Check()
}

// connect serves the service in memory and returns a client of it.
func connect(t *testing.T, service *orders, lock grpc.UnaryServerInterceptor) shopv1.ShopServiceClient {
	t.Helper()
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(lock))
	shopv1.RegisterShopServiceServer(server, service)
	l := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	cc, err := grpc.NewClient("passthrough:///orders",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cc.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return shopv1.NewShopServiceClient(cc)
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
			client := connect(t, service, cookbook.LockCustomers(l, grpcmw.Fields("buyer")))
			for customer := range service.of {
				calls.Go(func() {
					r := &shopv1.PlaceOrderRequest{Buyer: strconv.Itoa(customer)}
					if _, err := client.PlaceOrder(t.Context(), r); err != nil {
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
		authenticated := func(ctx context.Context) string {
			if users := metadata.ValueFromIncomingContext(ctx, "user"); len(users) == 1 {
				return users[0]
			}
			return ""
		}
		var clients []shopv1.ShopServiceClient
		for _, l := range processes {
			clients = append(clients, connect(t, service, cookbook.LockCustomers(l, cookbook.Authenticated(authenticated))))
		}
		place := func(client shopv1.ShopServiceClient, user, customer string) error {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "user", user)
			_, err := client.PlaceOrder(ctx, &shopv1.PlaceOrderRequest{Buyer: customer})
			return err
		}
		start := time.Now()
		var calls sync.WaitGroup
		for i, client := range clients {
			calls.Go(func() {
				if err := place(client, "ann", strconv.Itoa(i)); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if took := time.Since(start); took != 2*time.Second || service.all.most.Load() != 1 {
			t.Errorf("%v, at most %d at once", took, service.all.most.Load())
		}
		if err := place(clients[0], "", "1"); status.Code(err) != codes.InvalidArgument {
			t.Errorf("nobody: %v", err)
		}
	})
}
