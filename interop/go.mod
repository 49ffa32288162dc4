module github.com/distlock-go/distlock/interop

go 1.26.0

require github.com/distlock-go/distlock v0.0.0

require golang.org/x/sys v0.39.0 // indirect

replace github.com/distlock-go/distlock => ../
