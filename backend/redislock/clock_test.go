package redislock

import (
	"testing"
)

// The slots are those that the specification of Redis Cluster and CLUSTER KEYSLOT give,
// and JedisClusterCRC16.getSlot of Jedis 7.5.3.
func TestSlotOf(t *testing.T) {
	for key, want := range map[string]uint16{
		"123456789": 12739, "foo": 12182, "{foo}:queue": 12182, "a{foo}b": 12182, "{}foo": 9500, "": 0,
		"{order}:1": 16025, "{order}{{order}:1}:queue": 16025, "order": 16025, "a{b}c": 3300, "{🔑}:1": 3314, "stock:{4711}:eu": 14075, "plain:key": 2456,
	} {
		if got := slotOf(key); got != want {
			t.Errorf("slotOf(%q) = %d, want %d", key, got, want)
		}
	}
}

// Each slot has a clock of its own in that slot, and processes of other versions must
// use the same ones.
func TestSlotClocks(t *testing.T) {
	seen := make(map[string]bool)
	for slot, tag := range slotTags() {
		clock := slotClock(defaultClock, tag)
		if int(slotOf(clock)) != slot || seen[clock] {
			t.Fatalf("slot %d has the clock %q in slot %d, or a second time", slot, clock, slotOf(clock))
		}
		seen[clock] = true
	}
	if got := slotClock(defaultClock, defaultClock); got != defaultClock {
		t.Errorf("the slot of %q has the clock %q", defaultClock, got)
	}
	if got, want := slotClock(defaultClock, "order-42"), "distlock:clock:{m2k}"; got != want {
		t.Errorf("the slot of order-42 has the clock %q, want %q", got, want)
	}
}
