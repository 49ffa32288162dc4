package grpcmw

// FromFiles is FromOptions for the services in files only.
var FromFiles = fromFiles
