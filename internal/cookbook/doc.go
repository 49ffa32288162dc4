// Package cookbook has the recipes of docs/cookbook.md whole, one file for each.
package cookbook
