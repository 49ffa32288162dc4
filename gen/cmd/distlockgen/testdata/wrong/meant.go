package wrong

import "context"

// Comments whose meaning can be guessed. None becomes a lock with other options than are meant.
type meant interface {
	//distlock:lock prefix:my-, value:test, keyTimeout:3s
	Commas(ctx context.Context) error
	//distlock:lock prefix="my-", value="test", keyTimeout=3s
	Equals(ctx context.Context) error
	//distlock:lock @DistributedLock(prefix = "my-", value = "test", keyTimeout = 3000L)
	Annotation(ctx context.Context) error
	//@DistributedLock(value = "test", retryCount = 3, keyTimeout = 3000L, paramLock = true)
	AnnotationAlone(ctx context.Context, id int) error
	//distlock:lock(value = "test", paramLock = true)
	Parentheses(ctx context.Context, id int) error
	//distlock:lock value:test keyTimeout:3000L maxWait:3
	Long(ctx context.Context) error
	//distlock:lock Value:test KEYTIMEOUT:3s key_format:f paramlock fencing:TRUE mode:Exclusive
	Cases(ctx context.Context, id int) error
	// distlock:lock value:test keyTimeout:3s
	Space(ctx context.Context) error
	//distlock: lock value:test
	SpaceInside(ctx context.Context) error
	//distlok:lock value:test, retryCount:3L
	Marker(ctx context.Context) error
	//distlock:lock value: test keyTimeout: 3s
	SpacesBehind(ctx context.Context) error
	//distlock:lock value:test value:test keyTimeout:3s
	Twice(ctx context.Context) error
	//distlock:lock value:test param:r.User.ID
	Path(ctx context.Context, r request) error
	//distlock:lock value:test key:r.First + "/" + r.Last maxWait:1s
	Expression(ctx context.Context, r request) error
	//distlock:lock value:“test” prefix:'my-'
	Typographic(ctx context.Context) error
	//distlock:lock prefix:my-,value:test;keyTimeout:3s
	NoSpaces(ctx context.Context) error
	//distlock:lock value:test;maxWait:3s
	Semicolon(ctx context.Context) error
	//distlock:lock prefix:=my- value:test
	ColonEquals(ctx context.Context) error
	//distlock:lock value:…
	Ellipsis(ctx context.Context) error
	// distlock:lock is how this would begin.
	Prose(ctx context.Context) error
}
