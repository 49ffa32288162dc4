package main

import (
	"context"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"github.com/distlock-go/distlock/internal/test/maven"
)

// redisson is the name of the peer in Java: Redisson's RLock, with one platform thread for
// each goroutine. Its process is a JVM that speaks the language of child.go. It keeps running
// from turn to turn: a JVM interprets its code at first, and is several times as fast when it
// has compiled it.
const redisson = "redisson"

// javaProject is the worker in Java, built when it is first needed.
var javaProject = sync.OnceValues(func() (*maven.Project, error) {
	_, here, _, _ := runtime.Caller(0)
	return maven.Build(context.Background(), filepath.Join(filepath.Dir(here), "java"))
})

// javaCommand returns the command of a process of the peer in Java.
func javaCommand(t task) ([]string, error) {
	p, err := javaProject()
	if err != nil {
		return nil, err
	}
	return []string{
		p.Java, "-Xmx512m", "-cp", p.ClassPath, "peers.Worker",
		t.URL, t.Key, strconv.FormatBool(t.OwnKeys), strconv.Itoa(t.Goroutines),
	}, nil
}
