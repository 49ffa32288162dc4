package torture

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// ill is what can happen to a message.
type ill struct {
	name    string
	ways    []int // of the message
	longest time.Duration
	cuts    bool // the connection
}

const longestLate = 2500 * time.Millisecond

// ills are all kinds. A late message keeps back those behind it on its connection. What was cut
// is sent again by the client, at once: so the server gets it twice, or first the copy.
var ills = [...]ill{
	{name: "slow message", ways: []int{requests, replies}, longest: 300 * time.Millisecond},
	{name: "late request", ways: []int{requests}, longest: longestLate},
	{name: "late reply", ways: []int{replies}, longest: longestLate},
	cutAfter: {name: "cut after request", ways: []int{requests}, longest: longestLate, cuts: true},
	{name: "cut before reply", ways: []int{replies}, cuts: true},
}

const cutAfter = 3

// weather is what happens to the messages of a process.
type weather struct {
	proc    string
	proxy   bool                      // it keeps the connections when the server fails over
	far     [directions]time.Duration // how long each message takes at least
	chances []float64                 // of ills, for a message
	usual   []float64                 // while there is a storm: those at other times
	dropped []string                  // the messages, by their names, that nothing happens to
}

// weatherOf draws which ills a seed has and how often, and how far the server is. Some seeds have
// no ills.
func weatherOf(rng *rand.Rand, dropped []string) weather {
	w := weather{chances: make([]float64, len(ills)), dropped: dropped, proxy: rng.IntN(2) == 0}
	for i := range ills {
		if often := 1 + rng.IntN(30); rng.IntN(2) == 0 {
			w.chances[i] = 0.3 / float64(often)
		}
	}
	for way := range w.far {
		if rng.IntN(2) == 0 {
			w.far[way] = time.Duration(rng.Int64N(int64(75 * time.Millisecond)))
		}
	}
	return w
}

// strike returns what happens to the n-th message of a process, or nil. The number at is between
// 0 and 1, and decides.
func (w *weather) strike(n, way int, at float64) *ill {
	for i, chance := range w.chances {
		if at -= chance; at < 0 {
			if !slices.Contains(ills[i].ways, way) || slices.Contains(w.dropped, w.name(n)) {
				return nil
			}
			return &ills[i]
		}
	}
	return nil
}

// storm cuts the connection after each request, until it is over.
func (w *wire) storm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.weather.usual, w.weather.chances = w.weather.chances, []float64{cutAfter: 1}
}

func (w *wire) stormOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.weather.chances = w.weather.usual
}

// name returns the name of the n-th message.
func (w *weather) name(n int) string { return fmt.Sprintf("%s:%d", w.proc, n) }

// struck is a message that something happened to.
type struck struct {
	*ill
	message int
	at      int64
	long    time.Duration
}

// struck returns all messages that something happened to, one in a line, and counts them.
func (w *world) struck(injected map[string]int) string {
	type line struct {
		at   int64
		text string
	}
	var lines []line
	for _, p := range w.all {
		for _, s := range p.wire.struck {
			injected[s.name]++
			since := time.Duration(s.at - bubbleStart).Truncate(time.Millisecond)
			lines = append(lines, line{s.at, fmt.Sprintf("%10v  %-20s %s  for %v\n", since, s.name, p.wire.weather.name(s.message), s.long.Truncate(time.Millisecond))})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
	}
	return b.String()
}
