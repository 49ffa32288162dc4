// Package wake tells a goroutine that it has something to do.
package wake

// Signal sends the zero value to a channel that has room for one. It does not block: a
// value that is there already says the same.
func Signal[T any](c chan<- T) {
	var zero T
	select {
	case c <- zero:
	default:
	}
}
