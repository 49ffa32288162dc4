// Package spec has the lease protocol in Quint, for readers, and in Promela, for SPIN. It
// reads histories of the former, which tests replay on the code: see README.md.
package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// History is the steps of one run of lease.qnt. The first is the initial state.
type History []Step

// Step is what happened, and the state after it. The types are those of lease.qnt.
type Step struct {
	What    string   // such as "asks"
	Proc    int      // which process; 0 for the store, the network, and time
	Arrived *Request // which request arrived, if What is "late"
	State
}

// State is the whole state.
type State struct {
	Now      int  // milliseconds of the store's clock
	Store    Data `json:"store"`
	Replica  Data
	Failed   int
	Procs    map[int]Process
	Late     []Request // what is still on its way, or may arrive again
	Serial   int
	Wrote    int                           // the largest token that the resource has seen
	Observer struct{ Owner, End, Max int } `json:"g"`
	Over     []int
	Broken   []string // promises
}

// Data is what a store has.
type Data struct {
	Holder, End, Tok, Last int
	Queue, Gone            []int
}

// Request is a request in the network.
type Request struct {
	Kind  string // try, renew, release
	Owner int
	Doubt bool
	Acq   int // the acquisition that it is part of
}

// Process is a process, and its lease.
type Process struct {
	Phase                    string // idle, trying, holding, leaving
	Owner, Acq, Tok, Last    int
	Clock, Rate, Deadline    int // microseconds of its own; a millisecond has Rate of them
	Paused, Doubt            bool
	RPC, Answer              string
	Sent, Atok, Alast, Claim int
	Msg                      []struct {
		Owner, Tok, Last int
		Old              bool
	}
}

// Read reads a history in the Informal Trace Format.
func Read(trace []byte) (History, error) {
	var all any
	if err := json.Unmarshal(trace, &all); err != nil {
		return nil, err
	}
	simple, err := json.Marshal(plain(all))
	if err != nil {
		return nil, err
	}
	var file struct {
		States []struct {
			S   State
			Did struct {
				What string
				Proc int
				Late []Request
			}
		}
	}
	d := json.NewDecoder(bytes.NewReader(simple))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("not a history of lease.qnt: %w", err)
	}
	h := make(History, len(file.States))
	for i, s := range file.States {
		h[i] = Step{What: s.Did.What, Proc: s.Did.Proc, State: s.S}
		for _, r := range s.Did.Late {
			h[i].Arrived = &r
		}
	}
	return h, nil
}

// plain returns a value of a trace as ordinary JSON: a set is a list, a map has its keys as
// text, and a variable has its last name. Metadata are left out.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		if n, ok := v["#bigint"]; ok {
			return json.Number(n.(string))
		} else if set, ok := v["#set"]; ok {
			return plain(set)
		}
		fields := make(map[string]any)
		if pairs, ok := v["#map"]; ok {
			for _, p := range pairs.([]any) {
				pair := p.([]any)
				fields[fmt.Sprint(plain(pair[0]))] = plain(pair[1])
			}
			return fields
		}
		for name, field := range v {
			if name != "#meta" && name != "vars" {
				fields[name[strings.LastIndex(name, ":")+1:]] = plain(field)
			}
		}
		return fields
	}
	return v
}
