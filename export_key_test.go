package distlock

// Internals for the tests of keys.
var (
	CheckKey     = checkKey
	CheckType    = checkType
	ValidateBase = validateBase
)

// Limits of the encoding.
const (
	MaxEncoded = maxEncoded
	MaxNesting = maxNesting
)

// Encode returns the encoded form of params.
func Encode(params any) ([]byte, error) {
	var e encoder
	err := e.encode(params)
	return e.buf, err
}

// Build is build.
func (b *KeyBuilder) Build(params any) (key string, skipped bool, err error) {
	return b.build(params)
}

// CheckRequest is checkRequest.
var CheckRequest = (*KeyBuilder).checkRequest

// WithDefaults is withDefaults.
func (o Opts) WithDefaults() Opts { return o.withDefaults() }
