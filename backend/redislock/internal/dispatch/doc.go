// Package dispatch sends requests to one server, alone or in batches. It knows neither
// what the requests are nor how they are sent.
//
// A caller that finds nothing in flight sends its request at once, on its own goroutine.
// While a batch is in flight, requests queue. When it ends, one of the queued callers sends
// all of them as the next batch. So a single caller does not wait, and many callers share
// the cost of a message.
//
// go-redis has AutoPipeline for this, but it is marked experimental, and it passes each
// command to another goroutine and back, which at 8 callers costs more than the batches
// save. It also ignores the context of a queued command, so a caller cannot leave, and does
// not tell whether a command without an answer was sent.
package dispatch
