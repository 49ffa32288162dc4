package generate

import (
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
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/distlock-go/distlock/internal/protolock"
	distlockv1 "github.com/distlock-go/distlock/proto/distlock/v1"
)

// protoRows returns the lines of the rpcs with the option (distlock.v1.lock), from the
// descriptors in the code of protoc-gen-go.
func (g *generator) protoRows() (rows []row, _ error) {
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
				where := g.rpc(at, file, service.GetName(), rpc.GetName())
				opts, faults := protolock.Opts(lock)
				for _, fault := range faults {
					errs = append(errs, fmt.Errorf("%s: option (distlock.v1.lock) of %s: %w", where, rpc.GetName(), fault))
				}
				rows = append(rows, row{where: where, function: service.GetName() + "." + rpc.GetName(), opts: opts, params: lock.GetParams()})
			}
		}
	}
	return rows, errors.Join(errs...)
}

// rpc returns where an rpc is declared: in the .proto file, if it is beside its code.
func (g *generator) rpc(at token.Position, file *descriptorpb.FileDescriptorProto, service, name string) string {
	source := filepath.Join(filepath.Dir(at.Filename), path.Base(file.GetName()))
	if text, err := os.ReadFile(source); err == nil { // or else the code says it
		words := regexp.MustCompile(`(?s)\bservice\s+` + regexp.QuoteMeta(service) + `\s*\{.*?\brpc\s+` + regexp.QuoteMeta(name) + `\s*\(`)
		if m := words.FindIndex(text); m != nil {
			return g.rel(source) + ":" + strconv.Itoa(1+strings.Count(string(text[:m[1]]), "\n"))
		}
	}
	return g.rel(at.Filename) + ":" + strconv.Itoa(at.Line)
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
