// Package dispatch sends requests to one server. It knows neither what the requests are nor how
// they are sent.
//
// There is one message in flight to a server nearby, and several to a distant one or where many
// callers wait. Requests that come meanwhile queue, and go together as the next one. The
// caller of the first of them sends it on its own goroutine, and the others wait for its
// answer. So a lone caller pays for nothing, and many share the cost of a message.
// Databases write their logs in this way, and call it group commit.
//
// go-redis has AutoPipeline for this, but it is marked experimental, and it passes each
// command to another goroutine and back, which at 8 callers costs more than the batches
// save. It also ignores the context of a queued command, so a caller cannot leave, and does
// not tell whether a command without an answer was sent.
package dispatch
