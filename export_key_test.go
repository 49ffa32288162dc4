package distlock

// Internals for the tests of keys.
var (
	CheckKey     = checkKey
	ValidateBase = validateBase
)

// Build is build.
func (b *KeyBuilder) Build(params any) (key string, skipped bool, err error) {
	return b.build(params)
}

// CheckRequest is checkRequest.
var CheckRequest = (*KeyBuilder).checkRequest

// WithDefaults is withDefaults.
func (o Opts) WithDefaults() Opts { return o.withDefaults() }
