package main

import (
	"context"

	"github.com/distlock-go/distlock/cmd/distlockvet/testdata/woven/shop"
)

func main() { _ = shop.Pay(context.Background()) }
