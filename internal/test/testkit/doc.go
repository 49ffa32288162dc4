// Package testkit has what the tests of distlock share: [Store], the double of a backend;
// [Register], the resource that a lock protects; [Process], a test binary that runs once
// more as a child; and helpers. Only tests import it.
//
// Real servers are started by redistest, zktest, etcdtest and sqltest.
package testkit
