// Package releases tests the weaver's instructions with the newest releases of the
// weaver: the example, woven, under the race detector and with coverage, and what
// cannot be woven or was not. It is a module of its own, because the test builds and
// runs another program than itself.
package releases
