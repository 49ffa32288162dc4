// Package dispatch sends requests to one server, alone or in batches. It knows neither
// what the requests are nor how they are sent.
//
// A request that finds few others under way goes at once, on its caller's goroutine. With
// more callers, requests queue while a batch is on its way, and go together as the next one.
// So few callers do not wait for each other, and many share the cost of a message.
//
// go-redis has AutoPipeline for this, but it is marked experimental, and it passes each
// command to another goroutine and back, which at 8 callers costs more than the batches
// save. It also ignores the context of a queued command, so a caller cannot leave, and does
// not tell whether a command without an answer was sent.
package dispatch
