module github.com/distlock-go/distlock/gen

go 1.26.0

// go get -tool takes this module into a program's go.mod, so it requires nothing but
// x/tools and the library. There is no replace directive: go install …@latest refuses a
// module that has one.
require (
	github.com/distlock-go/distlock v0.1.0
	golang.org/x/tools v0.52.0
)

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
