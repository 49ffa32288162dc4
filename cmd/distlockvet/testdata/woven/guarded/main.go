package main

import (
	"context"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/cmd/distlockvet/testdata/woven/shop"
)

func main() {
	distlock.RequireWoven()
	_ = shop.Pay(context.Background())
}
