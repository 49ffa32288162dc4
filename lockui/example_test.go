package lockui_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/lockui"
)

// A server shows the locks of the shop. Operators may release a key.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{Holder: "web-3/1432"})
	defer locker.Close()

	operator := func(r *http.Request) bool {
		_, password, _ := r.BasicAuth() // in place of the application's authentication
		return password == "secret"
	}
	ui := lockui.New(locker, lockui.WithPrefix("shop:"),
		lockui.WithForceRelease(func(r *http.Request, _ string) error {
			if !operator(r) {
				return errors.New("not an operator")
			}
			return nil
		}))
	mux := http.NewServeMux()
	mux.Handle("/locks/", http.StripPrefix("/locks", ui))
	server := &http.Server{Handler: mux}
	server.RegisterOnShutdown(ui.Close) // Shutdown waits for event streams

	lease, err := locker.Acquire(context.Background(), "stock:u1", distlock.Opts{Prefix: "shop:"})
	if err != nil {
		log.Fatal(err)
	}

	r := httptest.NewRequest("POST", "/locks/release", strings.NewReader("key=shop:stock:u1"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("ann", "secret")
	w := httptest.NewRecorder()
	server.Handler.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	fmt.Println(errors.Is(lease.Release(context.Background()), distlock.ErrLost))
	// Output:
	// 200 {"key":"shop:stock:u1","held":true}
	//
	// true
}
