package rediskit

import (
	"strings"

	"github.com/redis/go-redis/v9"
)

// Scan calls page with the names that each command has found, on one master after the
// other, until page returns false or an error. A name may come twice. command sends
// SCAN with a cursor.
func Scan(masters []redis.UniversalClient, command func(master redis.UniversalClient, cursor uint64) (*redis.ScanCmd, error), page func(names []string) (more bool, err error)) error {
	for _, master := range masters {
		for cursor := uint64(0); ; {
			cmd, err := command(master, cursor)
			if err != nil {
				return err
			}
			names, next := cmd.Val()
			if more, err := page(names); err != nil || !more {
				return err
			}
			if cursor = next; cursor == 0 {
				break
			}
		}
	}
	return nil
}

// ScanPattern returns the pattern of SCAN that matches the text and nothing else.
func ScanPattern(text string) string { return literal.Replace(text) }

var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`)
