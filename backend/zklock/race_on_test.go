//go:build race

package zklock_test

const raceDetector = true
