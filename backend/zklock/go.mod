module github.com/distlock-go/distlock/backend/zklock

go 1.26.0

require (
	github.com/distlock-go/distlock v0.1.0
	github.com/go-zookeeper/zk v1.0.4 // container nodes
	github.com/google/uuid v1.6.0
	go.uber.org/goleak v1.3.0
)

require golang.org/x/sys v0.39.0 // indirect

replace github.com/distlock-go/distlock => ../..
