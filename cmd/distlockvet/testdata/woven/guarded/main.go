package main

import (
	"context"

	"github.com/distlock-go/distlock/cmd/distlockvet/testdata/woven/shop"
	"github.com/distlock-go/distlock/weave"
)

func main() {
	weave.Require()
	_ = shop.Pay(context.Background())
}
