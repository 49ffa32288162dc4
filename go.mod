module github.com/distlock-go/distlock

go 1.26.0

// The oldest versions with which all tests pass, and without known security faults, so
// that a program that uses the library keeps its own. CI tests the library with these,
// and in the workspace with the newest ones, which the other modules require.
require (
	github.com/alicebob/miniredis/v2 v2.40.0 // Dial and ClockTTL
	github.com/go-chi/chi/v5 v5.2.4 // older: GHSA-mqqf-5wvp-8fh8
	github.com/google/uuid v1.6.0
	github.com/redis/go-redis/v9 v9.22.0 // older: renewals on a Ring are lost, or messages of channels are late
	go.uber.org/goleak v1.3.0 // IgnoreAnyFunction
	golang.org/x/sys v0.39.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20251202230838-ff82c1b0f217
	google.golang.org/grpc v1.79.3 // older: GHSA-p77j-4mvh-x3m3
	google.golang.org/protobuf v1.36.11 // older: fields of messages without generated descriptors have presence
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/net v0.48.0 // indirect
	golang.org/x/text v0.32.0 // indirect
)
