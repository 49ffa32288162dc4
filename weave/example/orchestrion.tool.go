//go:build tools

// The weaver reads here whose instructions it shall follow.

package tools

import (
	_ "github.com/DataDog/orchestrion"
	_ "github.com/distlock-go/distlock/weave"
)
