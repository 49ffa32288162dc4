package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// servers are the HTTP and the gRPC server.
type servers struct {
	http *http.Server
	grpc *grpc.Server

	grace time.Duration      // how long the current requests may take after shutdown has begun
	cut   context.CancelFunc // cancels the contexts of all HTTP requests
}

// newServers returns servers with time limits for slow clients. Requests get the values
// of ctx, but not its cancellation: cut cancels them.
func newServers(ctx context.Context, cfg config, h http.Handler, g *grpc.Server, log *slog.Logger) *servers {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	return &servers{
		grpc:  g,
		grace: cfg.grace,
		cut:   cut,
		http: &http.Server{
			Handler:           h,
			ReadHeaderTimeout: 5 * time.Second,
			// From the headers to the response. An order may wait for its lock, think,
			// and wait for the database.
			WriteTimeout:   cfg.wait + cfg.think + storeTimeout + 5*time.Second,
			IdleTimeout:    time.Minute,
			MaxHeaderBytes: 16 << 10,
			ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
			BaseContext:    func(net.Listener) context.Context { return base },
			// There is no ReadTimeout: it would also limit the handler, because the
			// request's context ends with it. readBody has its own limit.
		},
	}
}

// serve runs both servers until ctx ends or one of them fails, and then waits for the
// current requests.
func (s *servers) serve(ctx context.Context, httpListener, grpcListener net.Listener) error {
	defer s.cut()
	failed := make(chan error, 2)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.http.Serve(httpListener); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serving HTTP: %w", err)
		}
	})
	serving.Go(func() {
		if err := s.grpc.Serve(grpcListener); err != nil {
			failed <- fmt.Errorf("serving gRPC: %w", err)
		}
	})
	defer serving.Wait()

	select {
	case <-ctx.Done():
		return s.shutdown(context.WithoutCancel(ctx))
	case err := <-failed:
		return errors.Join(err, s.shutdown(context.WithoutCancel(ctx)))
	}
}

// shutdown stops accepting requests at once. It returns when the last request has
// ended, or cuts the rest off after s.grace.
func (s *servers) shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.grace)
	defer cancel()
	var stopping sync.WaitGroup
	var httpErr error
	stopping.Go(func() { httpErr = s.http.Shutdown(ctx) })
	ended := make(chan struct{})
	stopping.Go(func() {
		s.grpc.GracefulStop()
		close(ended)
	})

	var grpcErr error
	select {
	case <-ended:
	case <-ctx.Done():
		grpcErr = ctx.Err()
		s.grpc.Stop() // makes GracefulStop return
	}
	stopping.Wait()
	if httpErr == nil && grpcErr == nil {
		return nil
	}
	s.cut()
	_ = s.http.Close() // it can only fail to close a connection
	return fmt.Errorf("stopped, but requests that took longer than %v were cut short", s.grace)
}
