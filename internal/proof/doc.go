// Package proof has no code: its tests put processes and clocks at fault, one row
// of the fault matrix at a time, and judge what the locks do then through the API
// that users have.
package proof
