package wrong

import "context"

//distlock:lock value:a keyTimeout:10sx retryInterval:200 retryCount:many mode:both fencing:maybe
func badValues(ctx context.Context) error { return nil }

//distlock:lock value:a keyTimeout:-1s retryCount:-2 permits:3 mode:shared minHold:2s maxHold:1s maxWait:1us
func nonsense(ctx context.Context) error { return nil }

//distlock:lock value:a value:b prefix: mode
func twice(ctx context.Context) error { return nil }

//distlock:lock value=a keyTimeout:"10s"x
func equals(ctx context.Context) error { return nil }

//distlock:lock value:a key:m["b"] "c"
func quotes(ctx context.Context) error { return nil }

//distlock:lock value:a key:'never closed
func open(ctx context.Context) error { return nil }

//distlock:lock value:a key:r.User. param:r.User as:9 paramLock:false param:ok
func expressions(ctx context.Context) error { return nil }

//distlock:lock value:a hasher:plain
func noParams(ctx context.Context) error { return nil }

//distlock:lock value:a b
func space(ctx context.Context) error { return nil }

//distlock:lock value:a hasher:plain keyFormat:javakey.Aspect
func hashedAndFormatted(ctx context.Context) error { return nil }

//distlock:lock prefix:{shop value:pay
func brace(ctx context.Context) error { return nil }

//distlock:lock KeyTimeout:1s params:a paramlock
func capitals(ctx context.Context) error { return nil }

//dislock:lock value:a
func misspelt(ctx context.Context) error { return nil }

// distlock lock value:a
func spacedWords(ctx context.Context) error { return nil }

//distlock:lock:value:a
func colon(ctx context.Context) error { return nil }

/*distlock:lock value:a*/
func block(ctx context.Context) error { return nil }

//distlock:lock value:a
var onAVar = func(ctx context.Context) error {
	//distlock:lock value:a
	return nil
}

type onAnInterface interface {
	//distlock:lock value:a
	context.Context

	After(ctx context.Context) error //distlock:lock value:a
}

// The directive is called distlock:lock, and errors say distlock: nil Locker.
// distlock: this is prose, too.
// //distlock:lock was commented out.
//
//	//distlock:lock in code
//	distlock:lock
func prose() {}

//go:generate true
//dist:lock
