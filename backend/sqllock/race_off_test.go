//go:build !race

package sqllock_test

const raceDetector = false
