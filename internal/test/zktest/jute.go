package zktest

import (
	"encoding/binary"
	"slices"
)

// packet is the rest of a packet that is read from the front, or a packet that is written
// at the end.
type packet []byte

func (p *packet) take(n int) []byte {
	n = min(max(n, 0), len(*p))
	b := (*p)[:n]
	*p = (*p)[n:]
	return b
}

func (p *packet) int32() int32 {
	b := append(slices.Clone(p.take(4)), 0, 0, 0, 0)
	return int32(binary.BigEndian.Uint32(b))
}

func (p *packet) int64() int64 { return int64(p.int32())<<32 | int64(uint32(p.int32())) }

func (p *packet) bytes() []byte { return slices.Clone(p.take(int(p.int32()))) }

func (p *packet) text() string { return string(p.bytes()) }

func (p *packet) bool() bool { return slices.Equal(p.take(1), []byte{1}) }

func (p *packet) texts() (all []string) {
	for range p.int32() {
		all = append(all, p.text())
	}
	return all
}

func (p packet) with32(v int32) packet { return binary.BigEndian.AppendUint32(p, uint32(v)) }

func (p packet) with64(v int64) packet { return binary.BigEndian.AppendUint64(p, uint64(v)) }

func (p packet) withBytes(b []byte) packet { return append(p.with32(int32(len(b))), b...) }
