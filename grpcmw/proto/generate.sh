#!/bin/sh
# Generates the Go code of one .proto file, named by its path from the root of
# the module: sh generate.sh grpcmw/proto/distlock/v1/lock.proto. It needs protoc, of any
# version, and installs nothing: the plugins are built in a temporary directory.
set -eu
cd "$(dirname "$0")/../.."
file=$1
dir=$(dirname "$file")

# protoc-gen-go is part of the protobuf module, so go.mod pins it: without the
# workspace, because generated code requires a protobuf module that is not older than
# the generator. The gRPC plugin is a module of its own, pinned here to keep it out of
# go.mod.
export GOWORK=off
grpc_plugin=google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

go build -o "$tmp/bin/" google.golang.org/protobuf/cmd/protoc-gen-go
GOBIN="$tmp/bin" go install "$grpc_plugin"
go run ./grpcmw/proto/internal/wellknown >"$tmp/wellknown.pb"

# The path of a file becomes the name that every program with its package in it
# registers, and that must be unique there. What users import is named from the
# directory grpcmw/proto, as they name it; all else from the root.
mkdir "$tmp/out"
protoc -I grpcmw/proto -I . --descriptor_set_in="$tmp/wellknown.pb" \
	--plugin=protoc-gen-go="$tmp/bin/protoc-gen-go" \
	--plugin=protoc-gen-go-grpc="$tmp/bin/protoc-gen-go-grpc" \
	--go_out="$tmp/out" --go_opt=paths=source_relative \
	--go-grpc_out="$tmp/out" --go-grpc_opt=paths=source_relative \
	"$file"

# The headers name the version of protoc. The code does not depend on it, so the
# line would only make a diff wherever another one is installed.
for f in $(find "$tmp/out" -name '*.go'); do
	sed '/^\/\/[^a-z]*protoc /d' "$f" >"$tmp/code"
	cat "$tmp/code" >"$dir/$(basename "$f")"
done
