//go:build tools

// The weaver reads here which instructions to follow.

package tools

import (
	_ "github.com/DataDog/orchestrion"
	_ "github.com/distlock-go/distlock/weave"
)
