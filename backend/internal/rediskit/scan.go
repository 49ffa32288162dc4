package rediskit

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
)

const (
	scanCount    = 1000 // keys that the server visits in one SCAN
	inspectBatch = 64   // keys that are read at once
)

// Inspection lists the locks of a store.
type Inspection struct {
	Limit  int
	Match  string // the pattern of SCAN
	Type   string // of the values that SCAN names; "": of any
	Server *Server
	Client redis.UniversalClient
	// Read reads the locks among names, some of which may have been read before.
	Read func(names []string) ([]driver.KeyInfo, error)
}

// List returns what was found before, and the locks that it finds on one master after the
// other until there are Limit, in the order of their keys.
func (s *Inspection) List(ctx context.Context, before []driver.KeyInfo) ([]driver.KeyInfo, error) {
	found := make(map[string]driver.KeyInfo)
	for _, info := range before {
		found[info.Key] = info
	}
	err := s.add(ctx, found)
	return slices.SortedFunc(maps.Values(found), func(x, y driver.KeyInfo) int { return strings.Compare(x.Key, y.Key) }), err
}

func (s *Inspection) add(ctx context.Context, found map[string]driver.KeyInfo) error {
	if len(found) >= s.Limit {
		return nil
	}
	masters, err := Operate(ctx, s.Server, s.Client, Masters)
	if err != nil {
		return err
	}
	for _, master := range masters {
		for cursor, more := uint64(0), true; more; more = cursor != 0 {
			cmd, err := Operate(ctx, s.Server, s.Client, func(ctx context.Context, _ redis.UniversalClient) (*redis.ScanCmd, error) {
				cmd := master.ScanType(ctx, cursor, s.Match, scanCount, s.Type)
				err := cmd.Err()
				return cmd, err
			})
			if err != nil {
				return err
			}
			var names []string
			names, cursor = cmd.Val()
			for batch := range slices.Chunk(names, inspectBatch) {
				infos, err := s.Read(batch)
				if err != nil {
					return err
				}
				for _, info := range infos {
					if _, known := found[info.Key]; !known && len(found) < s.Limit {
						found[info.Key] = info
					}
				}
			}
			if len(found) >= s.Limit {
				return nil
			}
		}
	}
	return nil
}

// ScanPattern returns the pattern of SCAN that matches the text and nothing else.
func ScanPattern(text string) string { return literal.Replace(text) }

var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)
