package main

import (
	"context"

	"github.com/distlock-go/distlock/cmd/distlockvet/testdata/woven/shop"
	"github.com/distlock-go/distlock/cmd/distlockvet/testdata/woven/weave"
)

func main() {
	weave.RequireWoven()
	_ = shop.Pay(context.Background())
}
