package main

import (
	"fmt"
	"maps"
	"math"
	"time"
)

// verdict is a goal and whether it was met, or only a comparison.
type verdict struct {
	ID        string  `json:"id"`
	What      string  `json:"what"`
	Goal      float64 `json:"goal"`
	Direction string  `json:"direction"` // how the ratio must compare with the goal: atLeast or atMost; "": there is no goal
	Ratio     float64 `json:"ratio"`
	Ours      float64 `json:"ours"` // the numerator of the ratio
	Best      float64 `json:"best_peer"`
	BestName  string  `json:"best_peer_name"`
	Unit      string  `json:"unit"` // unit of Ours and Best
	Met       bool    `json:"met"`
}

// The values of Direction.
const (
	atLeast = ">="
	atMost  = "<="
)

// Units as they appear in the table.
const (
	perSecond = "/s"
	micros    = "us"
	millis    = "ms"
	percent   = "%"
	bytesUnit = "B"
	number    = ""
)

// judged returns v with the ratio, unless it has one, and whether the goal is met. A
// missing ratio does not meet a goal.
func judged(v verdict) verdict {
	if v.Ratio == 0 && v.Best != 0 {
		v.Ratio = v.Ours / v.Best
	}
	switch {
	case v.Ratio == 0, math.IsNaN(v.Ratio), math.IsInf(v.Ratio, 0):
		v.Ratio = 0
	case v.Direction == atLeast:
		v.Met = v.Ratio >= v.Goal
	case v.Direction == atMost:
		v.Met = v.Ratio <= v.Goal
	}
	return v
}

// judge returns the verdicts of a scenario, given the figures of its peers.
func judge(s *scenario, of map[string]*figure) []verdict {
	us, ok := of[ours]
	if !ok {
		return nil
	}
	v := verdict{ID: s.id, What: s.what}
	switch group(s.id) {
	case "F1":
		return judgeBare(v, us, of)
	case "F2":
		return []verdict{judgeRate(v, us, of, 1), compareCPU(v, us, of)}
	case "F3":
		return []verdict{judgeRate(v, us, of, 2.5), judgeLimit(v, us, of)}
	case "F4":
		return []verdict{judgeRate(v, us, of, 50), judgeWait(v, us), judgeOrder(v, us)}
	case "F5":
		return []verdict{judgeRate(v, us, of, 50), judgeShares(v, us), judgeRegister(v, us)}
	case "F6":
		return judgeTurns(v, us, of)
	case "F7":
		return []verdict{judgeUtilisation(v, us, of)}
	case "F8":
		return []verdict{judgeCommands(v, us, of)}
	case "F14":
		goal := 20.0
		if s.shape.ownKeys {
			goal = 1
		}
		return []verdict{judgeRate(v, us, of, goal)}
	case "F17", "F18":
		goal := 5.0
		if s.shape.ownKeys {
			goal = 1
		}
		return judgeDurable(v, us, of, goal)
	case "F19", "F20":
		goal := 20.0
		if s.shape.ownKeys {
			goal = 1
		}
		return judgeJava(v, us, of, goal)
	case "F16":
		return []verdict{judgeKeysLeft(v, us, of), judgeMemoryLeft(v, us, of), compareStream(v, us, of)}
	}
	return nil
}

// judgeBare is F1: our time for a pair, divided by that of the bare pair.
func judgeBare(v verdict, us *figure, of map[string]*figure) []verdict {
	v.What += ": time over the bare pair's"
	v.Goal, v.Direction, v.Unit = 1.10, atMost, micros
	v.Ours = float64(time.Second/time.Microsecond) / us.rate()
	if bare, ok := of["bare"]; ok {
		v.Best, v.BestName = float64(time.Second/time.Microsecond)/bare.rate(), "bare"
	}
	return []verdict{judged(v)}
}

// compareCPU is F2's second row: the CPU time of the server for a lock and unlock,
// divided by that for the bare pair.
func compareCPU(v verdict, us *figure, of map[string]*figure) verdict {
	v.ID += ".cpu"
	v.What += ": server CPU per lock over the bare pair's"
	v.Unit = micros
	return judged(besideBare(v, cpuPerLock, us, of))
}

// besideBare returns v with a median of ours and of the bare pair.
func besideBare(v verdict, value func(*slice) float64, us *figure, of map[string]*figure) verdict {
	v.Ours = us.median(value)
	if bare, ok := of["bare"]; ok {
		v.Best, v.BestName = bare.median(value), "bare"
	}
	return v
}

// judgeRate is F2 to F5, F14, F17 and F18: our locks per second, divided by those of the best
// peer that finished, or of the best peer that was stopped if no peer finished.
func judgeRate(v verdict, us *figure, of map[string]*figure, goal float64) verdict {
	v.What += ": locks over the best peer's"
	v.Goal, v.Direction, v.Unit = goal, atLeast, perSecond
	v.Ours = us.rate()
	if f := best(of, true); f != nil {
		v.Best, v.BestName = f.rate(), f.peer
	} else if f := best(of, false); f != nil {
		v.Best, v.BestName = f.rate(), f.peer+" (did not finish)"
	}
	if !us.finished() {
		v.Ours = 0
	}
	return judged(v)
}

// judgeDurable is F17 and F18: judgeRate without the advisory lock, which is not on disk,
// and beside it.
func judgeDurable(v verdict, us *figure, of map[string]*figure, goal float64) []verdict {
	durable := maps.Clone(of)
	delete(durable, advisory)
	verdicts := []verdict{judgeRate(v, us, durable, goal)}
	if f, ok := of[advisory]; ok {
		v.ID += ".memory"
		v.What += ": locks over those of the lock in memory"
		v.Unit = perSecond
		v.Ours, v.Best, v.BestName = us.rate(), f.rate(), f.peer
		verdicts = append(verdicts, judged(v))
	}
	return verdicts
}

// judgeJava is F19 and F20: our locks per second, divided by those of the peer in Java;
// and those of the locks that Redisson shares.
func judgeJava(v verdict, us *figure, of map[string]*figure, goal float64) []verdict {
	shared := of[sharing]
	rivals := maps.Clone(of)
	delete(rivals, sharing)
	verdicts := []verdict{judgeRate(v, us, rivals, goal)}
	if shared != nil {
		v.ID += ".shared"
		v.What += ", in its record"
		verdicts = append(verdicts, judgeRate(v, shared, rivals, 1))
	}
	return verdicts
}

// best returns the peer with the most locks per second, or nil.
func best(of map[string]*figure, finished bool) (b *figure) {
	for _, name := range rivals {
		f, ok := of[name]
		if ok && f.finished() == finished && (b == nil || f.rate() > b.rate()) {
			b = f
		}
	}
	return b
}

// judgeLimit is F3's second goal: our locks per second, divided by the maximum number
// of pairs per second of the server.
func judgeLimit(v verdict, us *figure, of map[string]*figure) verdict {
	v.ID += ".limit"
	v.What += ": locks over pairs in full pipelines"
	v.Goal, v.Direction, v.Unit = 0.45, atLeast, perSecond
	v.Ours = us.rate()
	if limit, ok := of["pipeline"]; ok {
		v.Best, v.BestName = limit.rate(), "pipeline"
	}
	return judged(v)
}

// judgeWait is F4's second goal: the longest wait divided by the mean wait, both while
// all goroutines were waiting. It uses the median of the rounds.
func judgeWait(v verdict, us *figure) verdict {
	v.ID += ".wait"
	v.What += ": longest wait over the mean of a full queue"
	v.Goal, v.Direction, v.Unit = 3, atMost, millis
	v.Ours, v.Best, v.BestName = us.median(longest)/1e6, us.median(mean)/1e6, "mean"
	v.Ratio = us.median(patience)
	return judged(v)
}

// judgeOrder is F4's third goal: how many later callers overtook a waiter, at most, in
// any round.
func judgeOrder(v verdict, us *figure) verdict {
	v.ID += ".order"
	v.What += ": overtaken by so many at most"
	v.Goal, v.Direction, v.Unit = 64, atMost, number
	v.Ours = us.worst(overtaking)
	v.Ratio = v.Ours
	v.Met = v.Ratio <= v.Goal
	return v
}

// judgeShares is F5's second goal: the largest share of a process divided by the
// smallest, in the worst round.
func judgeShares(v verdict, us *figure) verdict {
	v.ID += ".share"
	v.What += ": largest share over the smallest"
	v.Goal, v.Direction, v.Unit = 2, atMost, percent
	for _, s := range us.slices {
		if r := imbalance(s); r >= v.Ratio {
			v.Ratio = r
			v.Ours, v.Best = ends(s.shares)
		}
	}
	v.BestName = "least"
	return judged(v)
}

// ends returns the largest and the smallest part of the sum, in percent.
func ends(shares []int64) (most, least float64) {
	sum := int64(0)
	for _, n := range shares {
		sum += n
	}
	least = 100
	for _, n := range shares {
		p := 100 * float64(n) / float64(max(sum, 1))
		most, least = max(most, p), min(least, p)
	}
	return most, least
}

// judgeRegister is F5's third goal: how often two callers held the lock or a token did
// not rise.
func judgeRegister(v verdict, us *figure) verdict {
	v.ID += ".register"
	v.What += ": two holders, or tokens that did not rise"
	v.Direction, v.Unit = atMost, number
	v.Ours = float64(us.violations())
	v.Ratio = v.Ours
	v.Met = v.Ours == 0
	return v
}

// judgeTurns is F6: the time from the unlock of one holder to the lock of the next,
// divided by the time of a message between the processes plus a round trip. All are
// medians.
func judgeTurns(v verdict, us *figure, of map[string]*figure) []verdict {
	v.What += ": hand-over over a message and a round trip"
	v.Goal, v.Direction, v.Unit = 1.0, atMost, micros
	v.Ours = float64(us.handOver()) / 1e3
	publish, ping := of["publish"], of["ping"]
	if publish != nil && ping != nil {
		p, r := publish.waits(), ping.waits()
		v.Best, v.BestName = float64(p.quantile(0.5)+r.quantile(0.5))/1e3, "publish+ping"
	}
	if v.Ours == 0 {
		return []verdict{v} // the lock never changed hands
	}
	return []verdict{judged(v)}
}

// judgeUtilisation is F7: the part of the time in which the lock is held.
func judgeUtilisation(v verdict, us *figure, of map[string]*figure) verdict {
	v.What += ": part of the time that it is held"
	v.Goal, v.Direction, v.Unit = 0.97, atLeast, percent
	v.Ratio = us.median(utilisation)
	v.Ours = 100 * v.Ratio
	if p, ok := of["polling"]; ok {
		v.Best, v.BestName = 100*p.median(utilisation), p.peer
	}
	return judged(v)
}

// judgeCommands is F8: commands that the server executes for an acquisition, commands
// in scripts included.
func judgeCommands(v verdict, us *figure, of map[string]*figure) verdict {
	v.What += ": commands per lock"
	v.Goal, v.Direction, v.Unit = 4, atMost, number
	v.Ours = us.median(commandsPerLock)
	v.Ratio = v.Ours
	v.Met = v.Ratio <= v.Goal && us.finished()
	for _, name := range redisPeers {
		f, ok := of[name]
		if !ok || name == ours || !f.finished() {
			continue
		}
		if n := f.median(commandsPerLock); v.BestName == "" || n < v.Best {
			v.Best, v.BestName = n, name
		}
	}
	return v
}

// judgeGrowth is F8's second goal: commands per lock with many waiters, divided by
// those with few.
func judgeGrowth(few, many verdict) verdict {
	return judged(verdict{
		ID: "F8.growth", What: "commands per lock, 1,000 waiters over 64",
		Goal: 1.25, Direction: atMost, Unit: number,
		Ours: many.Ours, Best: few.Ours, BestName: fmt.Sprintf("%s with 64", ours),
	})
}

// judgeKeysLeft is F16: how many keys are left in Redis. One for all locks is allowed.
func judgeKeysLeft(v verdict, us *figure, of map[string]*figure) verdict {
	v.What += ": keys left in Redis"
	v.Goal, v.Direction, v.Unit = 1, atMost, number
	v = besideBare(v, keysLeft, us, of)
	v.Ratio = v.Ours
	v.Met = v.Ratio <= v.Goal && us.finished()
	return v
}

// judgeMemoryLeft is F16's second goal: the memory that is left, for each lock. The
// server's other memory changes by less than the goal.
func judgeMemoryLeft(v verdict, us *figure, of map[string]*figure) verdict {
	v.ID += ".memory"
	v.What += ": memory left per key"
	v.Goal, v.Direction, v.Unit = 1, atMost, bytesUnit
	v = besideBare(v, memoryLeft, us, of)
	v.Ratio = v.Ours
	v.Met = v.Ratio <= v.Goal && us.finished()
	return v
}

// compareStream is F16's third row: the bytes for a replica for a lock and unlock,
// divided by those for the bare pair.
func compareStream(v verdict, us *figure, of map[string]*figure) verdict {
	v.ID += ".replica"
	v.What += ": bytes to a replica over the bare pair's"
	v.Unit = bytesUnit
	return judged(besideBare(v, streamPerLock, us, of))
}
