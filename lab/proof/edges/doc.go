// Package edges shows, for each store with the defaults of its client, what happens where a
// lock meets its surroundings: an address that leads to another server, connections that die
// without a word, a silent member, and a process that ends. Its test prints one table.
package edges
