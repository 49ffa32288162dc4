module github.com/distlock-go/distlock/interop

go 1.26.0

require (
	github.com/distlock-go/distlock v0.1.0
	github.com/redis/go-redis/v9 v9.22.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/distlock-go/distlock/backend/zklock v0.1.0
	github.com/go-zookeeper/zk v1.0.4 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/sys v0.39.0 // indirect
)

replace github.com/distlock-go/distlock => ../

replace github.com/distlock-go/distlock/backend/zklock => ../backend/zklock
