package rediskit

// Numbers returns the numbers at the beginning of an array that a script returned, and
// the rest.
func Numbers(reply []any) (numbers []int64, rest []any) {
	for i, part := range reply {
		n, ok := part.(int64)
		if !ok {
			return numbers, reply[i:]
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// Flag returns a boolean as scripts expect it.
func Flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
