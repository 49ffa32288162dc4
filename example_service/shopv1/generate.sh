#!/bin/sh
# Generates the Go code of shop.proto. It needs protoc, of any version, and
# installs nothing: the plugins are built into a directory that goes away again.
set -eu
cd "$(dirname "$0")/../.."

# From the root of the module: the path becomes the name that every program with
# this package in it registers, and that must be unique there.
dir=example_service/shopv1

# protoc-gen-go is part of the protobuf module, so go.mod pins it. The gRPC
# plugin is a module of its own, pinned here to keep it out of go.mod.
grpc_plugin=google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

go build -o "$tmp/bin/" google.golang.org/protobuf/cmd/protoc-gen-go
GOBIN="$tmp/bin" go install "$grpc_plugin"

mkdir "$tmp/out"
protoc \
	--plugin=protoc-gen-go="$tmp/bin/protoc-gen-go" \
	--plugin=protoc-gen-go-grpc="$tmp/bin/protoc-gen-go-grpc" \
	--go_out="$tmp/out" --go_opt=paths=source_relative \
	--go-grpc_out="$tmp/out" --go-grpc_opt=paths=source_relative \
	"$dir/shop.proto"

# The headers name the version of protoc. The code does not depend on it, so the
# line would only make a diff wherever another one is installed.
for f in shop.pb.go shop_grpc.pb.go; do
	sed '/^\/\/[^a-z]*protoc /d' "$tmp/out/$dir/$f" >"$tmp/$f"
	mv "$tmp/$f" "$dir/$f"
done
