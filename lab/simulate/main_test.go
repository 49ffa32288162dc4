package main

import (
	"testing"
)

func TestEditsFitThisVersionOfGo(t *testing.T) {
	t.Parallel()
	if _, err := edited(); err != nil {
		t.Error(err)
	}
}
