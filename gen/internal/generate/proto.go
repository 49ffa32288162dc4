package generate

import (
	"bytes"
	"errors"
	"fmt"
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

	distlockv1 "github.com/distlock-go/distlock/grpcmw/proto/distlock/v1"
	"github.com/distlock-go/distlock/internal/protolock"
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
		raw, isConst := obj.(*types.Const)
		if !isConst {
			errs = append(errs, fmt.Errorf("%s: want code of protoc-gen-go 1.36.6 or later", g.rel(at.Filename)))
			continue
		}
		if err := proto.Unmarshal([]byte(constant.StringVal(raw.Val())), file); err != nil {
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
