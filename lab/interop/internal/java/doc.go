// Package java builds Maven projects and runs their programs for tests, as child
// processes that can be stopped and killed. Only tests use it.
package java
