// Package etcdlock keeps locks in etcd.
package etcdlock
