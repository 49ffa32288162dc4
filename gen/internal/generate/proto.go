package generate

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/distlock-go/distlock/internal/protolock"
	distlockv1 "github.com/distlock-go/distlock/proto/distlock/v1"
)

// protoLines returns the lines of the rpcs with the option (distlock.v1.lock), from the
// descriptors in the code of protoc-gen-go.
func (g *generator) protoLines() (lines [][]string, _ error) {
	var errs []error
	for _, name := range g.Pkg.Scope().Names() {
		if !strings.HasSuffix(name, "_proto_rawDesc") {
			continue
		}
		obj, file := g.Pkg.Scope().Lookup(name), new(descriptorpb.FileDescriptorProto)
		at := g.Fset.Position(obj.Pos())
		if err := proto.Unmarshal(g.bytesOf(obj), file); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s is not a descriptor: %w", g.rel(at.Filename), name, err))
		}
		for _, service := range file.GetService() {
			for _, rpc := range service.GetMethod() {
				lock, _ := proto.GetExtension(rpc.GetOptions(), distlockv1.E_Lock).(*distlockv1.Lock)
				if lock == nil {
					continue
				}
				at := rpcPosition(at, file, service.GetName(), rpc.GetName())
				opts, faults := protolock.Opts(lock)
				for _, fault := range faults {
					errs = append(errs, fmt.Errorf("%s: option (distlock.v1.lock) of %s: %w", g.at(at), rpc.GetName(), fault))
				}
				lines = append(lines, g.cells(at, service.GetName()+"."+rpc.GetName(), opts, lock.GetParams()))
			}
		}
	}
	return lines, errors.Join(errs...)
}

// rpcPosition returns where an rpc is declared: in the .proto file, if it is beside its code,
// which begins at code.
func rpcPosition(code token.Position, file *descriptorpb.FileDescriptorProto, service, name string) token.Position {
	source := filepath.Join(filepath.Dir(code.Filename), path.Base(file.GetName()))
	words := regexp.MustCompile(`(?s)\bservice\s+` + regexp.QuoteMeta(service) + `\s*\{.*?\brpc\s+` + regexp.QuoteMeta(name) + `\s*\(`)
	text, _ := os.ReadFile(source) // without it, the code says where
	if m := words.FindIndex(text); m != nil {
		return token.Position{Filename: source, Line: 1 + bytes.Count(text[:m[1]], []byte("\n"))}
	}
	return code
}

// bytesOf returns the value of a constant string, as protoc-gen-go writes it, or of a variable
// with a list of bytes, as it did before version 1.36.6.
func (g *generator) bytesOf(obj types.Object) (raw []byte) {
	if c, ok := obj.(*types.Const); ok {
		return []byte(constant.StringVal(c.Val()))
	}
	for _, src := range g.sources {
		if src.file.FileStart > obj.Pos() || obj.Pos() > src.file.FileEnd {
			continue
		}
		ast.Inspect(src.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && g.Info.Defs[spec.Names[0]] != obj {
				return false
			}
			list, _ := n.(*ast.CompositeLit)
			if list == nil {
				return true
			}
			for _, element := range list.Elts {
				if value := g.Info.Types[element].Value; value != nil {
					b, _ := constant.Uint64Val(value)
					raw = append(raw, byte(b))
				}
			}
			return false
		})
	}
	return raw
}
