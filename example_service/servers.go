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

// servers are the two ways in.
type servers struct {
	http *http.Server
	grpc *grpc.Server

	grace time.Duration      // how long requests may take to end once no more are accepted
	cut   context.CancelFunc // ends the contexts of all HTTP requests
}

// newServers returns servers whose slowest clients cannot hold a connection for
// ever. Requests get the values of ctx, but outlive its end until they are cut
// short.
func newServers(ctx context.Context, cfg config, h http.Handler, g *grpc.Server, log *slog.Logger) *servers {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	return &servers{
		grpc:  g,
		grace: cfg.grace,
		cut:   cut,
		http: &http.Server{
			Handler:           h,
			ReadHeaderTimeout: 5 * time.Second,
			// From the headers to the response. An order may wait for its lock,
			// think, and wait for the database.
			WriteTimeout:   cfg.wait + cfg.think + 20*time.Second,
			IdleTimeout:    time.Minute,
			MaxHeaderBytes: 16 << 10,
			ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
			BaseContext:    func(net.Listener) context.Context { return base },
			// No ReadTimeout: it goes on while the handler runs, and when it has
			// passed, the request's context ends. readBody has its own limit.
		},
	}
}

// serve serves both until ctx ends or one of them fails, then lets the requests
// end that are under way.
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

// shutdown stops accepting at once and returns when the last request has ended,
// or after s.grace, when those that are left are cut off.
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
		s.grpc.Stop() // lets GracefulStop return
	}
	stopping.Wait()
	if httpErr == nil && grpcErr == nil {
		return nil
	}
	s.cut()
	_ = s.http.Close() // all it could fail at is closing a connection
	return fmt.Errorf("stopped, but requests that took longer than %v were cut short", s.grace)
}
