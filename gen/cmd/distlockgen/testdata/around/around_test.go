package around

import (
	"context"
	"testing"
)

func TestReserve(t *testing.T) {
	if err := new(service).reserve(context.Background(), "tea"); err != nil {
		t.Error(err)
	}
}
