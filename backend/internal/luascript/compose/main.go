// Compose writes the scripts of all backends to a directory, as they are sent to a server.
// The linter reads them there.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	_ "github.com/distlock-go/distlock/backend/redislock"
	_ "github.com/distlock-go/distlock/backend/redissonlock"
	_ "github.com/distlock-go/distlock/backend/redlock"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: compose DIRECTORY")
	}
	for i, s := range luascript.Loaded() {
		name := fmt.Sprintf("%02d-%s", i, filepath.Base(s.Name))
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(s.Source()), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
