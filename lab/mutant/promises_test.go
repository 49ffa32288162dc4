package mutant

import (
	"fmt"
	"slices"
)

// promises are those of docs/reliability.md, with the mutants that break each.
var promises = []struct {
	name, text string
	mutants    []string
}{
	{"P1", "at most one exclusive holder per key, or readers without a writer, or n permits", []string{
		"tombstone-ignored", "tombstone-ignored-fast", "plain-in-doubt", "plain-not-undone", "tombstone-not-written", "owner-by-its-beginning",
		"renewal-recreates", "publish-before-write", "reader-beside-writer", "permits-of-the-holders",
		"quorum-of-one", "repetition-is-no-doubt", "whose-node-is-not-asked",
		"stranger-is-not-refused", "fence-not-demanded",
		"held-row-is-free", "java-is-not-a-holder", "late-attempt-has-the-key",
	}},
	{"P2", "the holder's context is cancelled before the store may grant the key to another", []string{
		"deadline-from-the-reply", "monotonic-clock-only", "jump-unnoticed",
		"renewal-counts-from-the-answer", "refresh-counts-from-the-answer", "state-without-margin",
		"state-loss-untold", "batch-of-a-lease", "points-in-time", "late-attempt-shortens",
		"decided-and-not-told", "stranger-is-not-noticed",
	}},
	{"P3", "each lease has its own token, larger than all earlier ones of its key", []string{
		"incr-tokens", "token-concatenated", "clock-set-back", "token-for-two",
		"state-tokens-not-reserved", "sequence-as-token", "plain-clock-lags", "token-of-the-last-owner", "own-counter",
	}},
	{"P4", "a resource that checks the token is safe, and so is a transaction with Guard", []string{
		"guard-of-any-token",
	}},
	{"P5", "after faults have ended, every waiter is served", []string{
		"set-nx-retried", "no-poll", "skipped-as-nobody-heard", "grant-before-the-queue",
		"watch-unheeded", "refused-renewal-not-repeated", "queue-turn-forgotten", "silence-is-not-told",
		"interruption-unnoticed", "shared-lease-left-behind",
		"state-time-bound-ignored", "state-asks-although-others-wait", "extend-while-others-wait",
	}},
	{"P6", "a release never removes another's grant", []string{
		"release-of-another", "release-of-another-on-a-node", "row-of-another", "repeated-unseen",
		"direct-without-repetition", "taken-along-without-repetition", "repetition-is-not-doubt", "name-used-again-too-early",
	}},
	{"P7", "a crash blocks the key for at most the lease", []string{
		"unwatched-after-the-release", "lost-and-watched", "state-max-hold-ignored", "fence-not-written",
		"abandoned-attempt-is-no-doubt",
	}},
	{"P8", "in one process, holders that exclude each other never overlap, even after a loss", []string{
		"gate-opened-at-loss", "queue-admits-all", "queue-hand-over-to-another-class",
		"queue-hand-over-against-the-lease", "shared-lease-goes-on",
		"state-old-lease-handed-over",
	}},
}

// all are the mutants in the order of the promises.
var all = byPromise(slices.Concat(store, process, core, queue, leaseState, waiting, zooKeeper, etcd, sqlStore, redisServers, redisson, quorum))

// byPromise sets the promise of each mutant. It panics if a mutant does not have exactly one.
func byPromise(mutants []mutant) []mutant {
	var all []mutant
	for _, p := range promises {
		for _, name := range p.mutants {
			i := slices.IndexFunc(mutants, func(m mutant) bool { return m.Name == name && m.Promise == "" })
			if i < 0 {
				panic(fmt.Sprintf("mutant: %s of %s is not a mutant, or is there twice", name, p.name))
			}
			mutants[i].Promise = p.name
			all = append(all, mutants[i])
		}
	}
	if len(all) != len(mutants) {
		i := slices.IndexFunc(mutants, func(m mutant) bool { return m.Promise == "" })
		panic(fmt.Sprintf("mutant: %s breaks no promise", mutants[i].Name))
	}
	return all
}
