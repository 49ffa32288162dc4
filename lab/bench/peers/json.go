package main

import (
	"encoding/json"
	"math"
	"os"
)

// jsonReport is the content of the -json file.
type jsonReport struct {
	Machine   machine      `json:"machine"`
	Scenarios []verdict    `json:"scenarios"`
	Figures   []jsonFigure `json:"figures"`
}

// jsonFigure is a figure in JSON. Times are in microseconds; fields that do not apply
// are omitted.
type jsonFigure struct {
	Scenario     string    `json:"scenario"`
	What         string    `json:"what"`
	Peer         string    `json:"peer"`
	Finished     bool      `json:"finished"`
	Rate         float64   `json:"rate"` // per second, the median of Rates
	Rates        []float64 `json:"rates"`
	Locks        int64     `json:"locks"`
	P50          float64   `json:"p50_us,omitempty"`
	P99          float64   `json:"p99_us,omitempty"`
	Max          float64   `json:"max_us,omitempty"`
	FullMean     float64   `json:"full_queue_mean_us,omitempty"`
	FullMax      float64   `json:"full_queue_max_us,omitempty"`
	Overtaken    *int64    `json:"overtaken_max,omitempty"`
	OvertakenAny *int64    `json:"overtaken_waits,omitempty"`
	Shares       [][]int64 `json:"shares,omitempty"`
	HandOver     float64   `json:"hand_over_us,omitempty"`
	Utilisation  float64   `json:"utilisation,omitempty"`
	Commands     float64   `json:"commands_per_lock,omitempty"`
	CPU          float64   `json:"server_cpu_us_per_lock,omitempty"`
	KeysLeft     *float64  `json:"keys_left,omitempty"`
	MemoryLeft   *float64  `json:"bytes_left_per_lock,omitempty"`
	Stream       float64   `json:"replica_bytes_per_lock,omitempty"`
	Violations   *int64    `json:"violations,omitempty"`
	Errors       int       `json:"errors,omitempty"`
	Problems     string    `json:"problems,omitempty"`
}

func newJSONFigure(f *figure) jsonFigure {
	s := f.scenario.shape
	w := f.waits()
	j := jsonFigure{
		Scenario: f.scenario.id, What: f.scenario.what, Peer: f.peer,
		Finished: f.finished(), Rate: round(f.rate()), Problems: f.problems(),
		P50: inMicros(w.quantile(0.5)), P99: inMicros(w.quantile(0.99)), Max: inMicros(w.Max),
	}
	for _, r := range f.rates() {
		j.Rates = append(j.Rates, round(r))
	}
	for _, sl := range f.slices {
		j.Locks += sl.locks
		j.Errors += sl.errors
	}
	if s.newKeys {
		keys, memory := f.median(keysLeft), round(f.median(memoryLeft))
		j.KeysLeft, j.MemoryLeft, j.Stream = &keys, &memory, round(f.median(streamPerLock))
	} else if s.ownKeys {
		j.CPU = round(f.median(cpuPerLock))
	}
	if _, probe := probes[f.peer]; probe {
		return j
	}
	if s.grow {
		j.FullMean, j.FullMax = round(f.median(mean)/1e3), round(f.worst(longest)/1e3)
	}
	if s.order && f.peer == ours {
		most, waits := int64(0), int64(0)
		for _, sl := range f.slices {
			most, waits = max(most, sl.overtaken.Most), waits+sl.overtaken.Some
		}
		j.Overtaken, j.OvertakenAny = &most, &waits
	}
	if !s.ownKeys {
		n := f.violations()
		j.Violations = &n
		for _, sl := range f.slices {
			j.Shares = append(j.Shares, sl.shares)
		}
		j.HandOver = inMicros(f.handOver())
	}
	if s.hold > 0 {
		j.Utilisation = math.Round(f.median(utilisation)*1e4) / 1e4
	}
	if s.commands {
		j.Commands = round(f.median(commandsPerLock))
	}
	return j
}

// writeJSON writes the report to a file.
func (b *bench) writeJSON(path string, m machine) error {
	r := jsonReport{Machine: m, Scenarios: []verdict{}, Figures: []jsonFigure{}}
	for _, v := range b.verdicts {
		v.Ratio, v.Ours, v.Best = round(v.Ratio), round(v.Ours), round(v.Best)
		r.Scenarios = append(r.Scenarios, v)
	}
	for _, f := range b.figures {
		r.Figures = append(r.Figures, newJSONFigure(f))
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// round keeps four significant digits of fractions.
func round(x float64) float64 {
	if x == 0 || math.Abs(x) >= 1000 {
		return math.Round(x)
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}
