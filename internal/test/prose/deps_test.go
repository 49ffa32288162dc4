package prose

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/distlock-go/distlock"

// layer is a row of packages that do not import each other.
type layer struct {
	name     string
	packages string // without the path of the module
	uses     string // the layers that the packages may import
	outside  string // the modules that they may import besides the standard library
}

const (
	grpc          = "google.golang.org/grpc"
	protobuf      = "google.golang.org/protobuf"
	genproto      = "google.golang.org/genproto/googleapis/rpc"
	goRedis       = "github.com/redis/go-redis/v9"
	miniredisPath = "github.com/alicebob/miniredis/v2"
	uuidPath      = "github.com/google/uuid"
)

// layers are all packages of the module, the lowest first. A layer uses only layers above
// it in the table.
var layers = []layer{
	{"basics", "internal/background internal/bridge internal/clock internal/firstuse internal/raise-all-modules-together/v0.1 internal/rolling internal/text internal/version internal/wake", "", ""},
	{"owners", "internal/owner", "", uuidPath},
	{"keys", "internal/keyenc", "basics", ""},
	{"driver", "driver", "basics owners", ""},
	{"terms", "internal/compat", "driver", ""},
	{"parts", "internal/leasestate internal/localqueue", "basics driver terms", ""},
	{"root", ".", "basics owners keys driver terms parts", uuidPath},
	{"wiring", "wiring", "root basics", ""},
	{"admin", "admin", "root basics driver", ""},
	{"fence", "fence", "basics", ""},

	{"clients", "backend/internal/rediskit", "basics driver", goRedis},
	{"doubts", "backend/internal/doubt backend/internal/recent", "", ""},
	{"scripts", "backend/internal/luascript", "clients", goRedis},
	{"queues", "backend/internal/placequeue", "basics driver doubts", ""},
	{"batches", "backend/redislock/internal/dispatch", "basics", ""},
	{"backends", "backend/caslock backend/memlock backend/redislock backend/redissonlock backend/redlock", "basics driver clients doubts scripts batches", goRedis + " " + uuidPath},

	{"metrics", "internal/lockmetrics", "root driver", ""},
	{"options", "internal/optfield", "root", ""},
	{"proto", "grpcmw/proto/distlock/v1 grpcmw/proto/internal/wellknown", "", protobuf},
	{"requests", "internal/request", "root wiring keys fence parts", ""},
	{"http", "httpmw", "root wiring fence requests parts", ""},
	{"page", "lockui", "basics root driver admin", ""},
	{"java", "javakey", "root", ""},
	{"grpc", "grpcmw", "root wiring fence requests options proto", grpc + " " + protobuf + " " + genproto},
	{"messages", "example_service/shopv1", "proto", grpc + " " + protobuf},

	{"network", "internal/test/spoilnet", "", ""},
	{"waiting", "internal/test/await", "driver", ""},
	{"suite", "locktest", "root admin driver network waiting backends", uuidPath},
	{"modes", "internal/test/testmode", "", ""},
	{"processes", "internal/test/child", "modes", "golang.org/x/sys"},
	{"testing", "internal/test/maven internal/test/prose", "modes processes", "golang.org/x/sys"},
	{"shop", "example_service", "root admin fence http grpc page backends processes messages", grpc + " " + goRedis + " " + miniredisPath},
	{"kit", "internal/test/testkit", "network waiting root admin driver backends modes processes testing", uuidPath},
	{"behaviour", "internal/test/root", "", ""},
	{"measured", "internal/test/knownrun", "root admin driver backends kit", ""},
	{"servers", "internal/test/etcdtest internal/test/natstest internal/test/redistest internal/test/sqltest internal/test/zktest", "driver network suite modes processes testing kit", goRedis + " " + miniredisPath + " " + uuidPath},
	{"emulators", "internal/test/kubetest internal/test/mototest", "driver suite processes modes servers", ""},
	{"adapters", "internal/test/adaptertest", "root admin backends kit servers", goRedis},
	{"tools", "internal/test/matrix backend/internal/luascript/compose", "modes testing scripts backends", ""},
	{"recipes", "internal/cookbook", "root http", ""},
}

// TestLayers: each package is in the table of layers, and imports only what the table
// says.
func TestLayers(t *testing.T) {
	t.Parallel()
	of := make(map[string]layer)
	var known []string
	for _, l := range layers {
		for _, used := range strings.Fields(l.uses) {
			if !slices.Contains(known, used) {
				t.Errorf("the layer %s uses %s, which is not a layer above it in the table", l.name, used)
			}
		}
		known = append(known, l.name)
		for pkg := range strings.FieldsSeq(l.packages) {
			of[strings.TrimSuffix(modulePath+"/"+pkg, "/.")] = l
		}
	}
	for line := range strings.Lines(list(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")) {
		words := strings.Fields(line)
		pkg, imports := words[0], words[1:]
		l, ok := of[pkg]
		if !ok {
			t.Errorf("%s is not in the table of layers", pkg)
			continue
		}
		delete(of, pkg)
		for _, path := range imports {
			if !l.mayImport(path) {
				t.Errorf("%s, in the layer %s, imports %s", pkg, l.name, path)
			}
		}
	}
	for pkg := range of {
		t.Errorf("the table has %s, which does not exist", pkg)
	}
}

// mayImport reports whether a package of l may import the package at path.
func (l layer) mayImport(path string) bool {
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return true // the standard library
	}
	if own, ok := strings.CutPrefix(path, modulePath); ok {
		own = strings.TrimPrefix(own, "/")
		if own == "" {
			own = "."
		}
		uses := strings.Fields(l.uses)
		return slices.ContainsFunc(layers, func(u layer) bool {
			return slices.Contains(uses, u.name) && slices.Contains(strings.Fields(u.packages), own)
		})
	}
	return slices.ContainsFunc(strings.Fields(l.outside), func(module string) bool {
		return path == module || strings.HasPrefix(path, module+"/")
	})
}

// TestModulesNameTheirVersion: a package of another module that uses the library imports the
// package that only the library of the same minor version has.
func TestModulesNameTheirVersion(t *testing.T) {
	t.Parallel()
	tied := 0
	for line := range strings.Lines(list(t, "-f", `{{.Module.Path}} {{.ImportPath}} {{join .Deps " "}}`, "work")) {
		words := strings.Fields(line)
		module := strings.TrimPrefix(words[0], modulePath+"/")
		if module == modulePath || module == "lab" || module == "examples" || strings.Contains(words[1], "/internal/test/") || !slices.Contains(words, modulePath+"/driver") {
			continue
		}
		tied++
		if !strings.Contains(line, modulePath+"/internal/raise-all-modules-together/v") {
			t.Errorf("%s does not import a package of internal/raise-all-modules-together", words[1])
		}
	}
	if tied < 10 {
		t.Errorf("%d packages of other modules use the library", tied)
	}
}

// list returns what go list prints.
func list(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
