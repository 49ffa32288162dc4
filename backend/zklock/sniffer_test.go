package zklock_test

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
)

// TestSniffer parses what a server sends, in chunks of every size.
func TestSniffer(t *testing.T) {
	t.Parallel()
	packet := func(b ...byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	reply := func(zxid uint64, body ...byte) []byte {
		head := binary.BigEndian.AppendUint32(nil, 42)
		head = binary.BigEndian.AppendUint64(head, zxid)
		return packet(append(append(head, 0, 0, 0, 0), body...)...)
	}
	text := func(s string) []byte { return packet([]byte(s)...) }
	hello := binary.BigEndian.AppendUint32(make([]byte, 4), 4000)
	hello = binary.BigEndian.AppendUint64(hello, 0x1234)
	path := "/distlock/a/_c_" + guid + "-lock-0000000001"
	said := slices.Concat(
		packet(append(hello, text("password........")...)...),
		reply(7),
		reply(8, text(path)...),
		reply(9, text("/elsewhere")...),
		reply(10, append(text("/distlock/a/_c_data"), 1, 2, 3)...),
		reply(11, make([]byte, 10_000)...),
		reply(12, text(path+"2")...),
	)
	for size := 1; size <= len(said); size += 1 + size/3 {
		id, timeout, births := zklock.Sniff(slices.Collect(slices.Chunk(said, size))...)
		if id != 0x1234 || timeout != 4*time.Second || len(births) != 2 || births[path] != 8 || births[path+"2"] != 12 {
			t.Fatalf("in chunks of %d: session %#x, %v, nodes %v", size, id, timeout, births)
		}
	}
}
