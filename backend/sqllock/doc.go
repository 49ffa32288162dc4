// Package sqllock keeps locks in a table of an SQL database.
package sqllock
