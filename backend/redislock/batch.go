package redislock

import (
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// A batch is the operations that are sent together: to one server, in one script call or
// in one pipeline of several.
const (
	maxBatch = 128

	// The number of locks in one script call. A script of this size stops the server for
	// a tenth of a millisecond or two.
	maxScriptOps = 64
)

// sortByScript groups the operations by their script.
func sortByScript(batch []*op) {
	if len(batch) > 1 {
		slices.SortStableFunc(batch, func(a, b *op) int { return strings.Compare(a.script.Name, b.script.Name) })
	}
}

// callsFor returns the script calls for a sorted batch, each for at most the given number
// of operations. The answers of the calls are written to answers.
func callsFor(batch []*op, answers []answer, most int) []scriptCall {
	var calls []scriptCall
	for from, to := 0, 0; from < len(batch); from = to {
		for to < len(batch) && to-from < most && batch[to].script == batch[from].script {
			to++
		}
		calls = append(calls, scriptCall{script: batch[from].script, ops: batch[from:to], answers: answers[from:to]})
	}
	return calls
}

// isOfOneKey reports whether a script for many locks failed because of one key: the key
// has an unexpected type, or the user may not access it.
func isOfOneKey(err error) bool {
	return !isLine(err, "") && (redis.HasErrorPrefix(err, "NOPERM") || rediskit.Answered(err) && err != nil && strings.Contains(err.Error(), "WRONGTYPE"))
}
