// Package cookbook has the code of docs/cookbook.md, one file for each recipe.
package cookbook
