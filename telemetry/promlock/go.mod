module github.com/distlock-go/distlock/telemetry/promlock

go 1.26.0

// Old versions with which all tests pass, so that a program that uses the library keeps its
// own.
require (
	github.com/distlock-go/distlock v0.1.0
	github.com/prometheus/client_golang v1.19.1
	github.com/prometheus/client_model v0.5.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/prometheus/common v0.48.0 // indirect
	github.com/prometheus/procfs v0.12.0 // indirect
	golang.org/x/sys v0.39.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)

replace github.com/distlock-go/distlock => ../..
