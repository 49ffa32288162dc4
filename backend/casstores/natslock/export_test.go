package natslock

// Escape returns the name of a key in the bucket.
var Escape = escape
