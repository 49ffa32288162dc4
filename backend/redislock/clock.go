package redislock

import (
	"strconv"
	"strings"
	"sync"
)

// defaultClock is the key with the last token that a server issued. A new token is the
// server's time, but larger than the last one. So tokens rise for every key, and no
// lock needs a counter of its own.
//
// The clock is never deleted: if the server's time was set back by an hour, it is
// needed for an hour. A server has one. In a Cluster, a script may only use keys of one
// slot, so each slot that has locks has a clock, with a tag in its name.
const defaultClock = "distlock:clock"

// slotClock returns the clock for the slot of a key. The slot in which the key clock is
// itself has that one, so that a client that does not know of the Cluster uses the
// same.
func slotClock(clock, key string) string {
	slot := slotOf(key)
	if slot == slotOf(clock) {
		return clock
	}
	return clock + ":" + slotTags()[slot]
}

// slotTags returns a hash tag for each slot: the smallest number in that slot, in base
// 36.
var slotTags = sync.OnceValue(func() []string {
	tags := make([]string, slots)
	for n, missing := int64(0), slots; missing > 0; n++ {
		number := strconv.FormatInt(n, 36)
		if slot := crc16(number) % slots; tags[slot] == "" {
			tags[slot] = "{" + number + "}"
			missing--
		}
	}
	return tags
})

// isClock reports whether a key is the clock, the clock of a slot, or a key beside it that
// Ping or checkServer uses.
func isClock(key, clock string) bool {
	rest, ok := strings.CutPrefix(key, clock)
	return ok && (rest == "" || strings.HasPrefix(rest, ":{"))
}

const slots = 16384

// slotOf returns the slot of a key, as the specification of Redis Cluster says: of the
// part between the first brace and the next closing one, if there is such a part.
func slotOf(key string) uint16 {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	return crc16(key) % slots
}

// crc16 is CRC-16/XMODEM.
func crc16(s string) (crc uint16) {
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}
