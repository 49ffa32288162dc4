package javakey_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/distlock-go/distlock/javakey"
	"github.com/distlock-go/distlock/wiring"
)

// The defaults are those that the annotation declares.
func TestAspectDefaults(t *testing.T) {
	t.Parallel()
	annotation, err := os.ReadFile("../lab/interop/java/src/main/java/aspect/DistributedLock.java")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^ *(?:long|int) (\w+)\(\) default (\d+);$`).FindAllSubmatch(annotation, -1) {
		if declared[string(m[1])], err = strconv.Atoi(string(m[2])); err != nil {
			t.Fatal(err)
		}
	}
	opts := javakey.AspectDefaults()
	got := map[string]int{
		"keyTimeout": int(opts.KeyTimeout.Milliseconds()), "retryCount": opts.RetryCount, "retryInterval": int(opts.RetryInterval.Milliseconds()),
	}
	for name, n := range got {
		if n != declared[name] || n == 0 {
			t.Errorf("%s is %d, and the annotation has %d", name, n, declared[name])
		}
	}
	opts.Prefix, opts.Value = "my-", "test"
	if key, err := wiring.Key(opts, nil); key != "my-test-locks" || err != nil {
		t.Errorf("the key is %s, %v", key, err)
	}
	if len(declared) != len(got) || opts.ParamLock {
		t.Errorf("the annotation has the numbers %v; ParamLock is %t", declared, opts.ParamLock)
	}
}
