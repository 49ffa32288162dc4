package main

import "io"

func printScale(io.Writer) error { return nil }
