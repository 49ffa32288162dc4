module github.com/distlock-go/distlock/backend/etcdlock

go 1.26.0

replace github.com/distlock-go/distlock => ../..
