// Package cookbook has recipes of docs/cookbook.md whole, one file for each.
package cookbook
