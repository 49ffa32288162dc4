SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules
.DEFAULT_GOAL := help

GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0
VALKEY ?= valkey-server
SKIP ?= ^$$
COUNT ?= 20
FUZZTIME ?= 1m
PACKAGES ?= work
ENGINE ?= docker
BENCHTIME ?= 1s
DUR ?= 1m
SEED ?= 0
SEEDS ?= 1000
BACKEND ?= redislock
USERS ?= 1000
LOOPS ?= 10
STEPS ?=

.PHONY: help
help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.PHONY: run
run: ## Serve the example shop on the embedded store
	go run ./example_service

# The pattern work stands for the packages of all modules that go.work names.

.PHONY: test
test: ## Run the quick tests of all modules
	.ci/test work

.PHONY: test-oldest
test-oldest: ## Run the quick tests of the library, otellock and promlock with the oldest versions that their go.mod allow
	GOWORK=off go vet ./...
	GOWORK=off .ci/test ./...
	export GOWORK=off; for mod in telemetry/otellock telemetry/promlock; do go -C "$$mod" vet ./... && go -C "$$mod" test ./...; done

.PHONY: check
check: ## Run gofmt, go vet and the quick tests of the library: two minutes, with redis-server three. Installs nothing
	@.ci/check

.PHONY: lab
lab: ## Run all that takes long, hours in all, or the STEPS: torture, mutants, peers, … Ends with a table. Installs nothing. What each finds: docs/reliability.md
	SEED=$(SEED) .ci/lab $(STEPS)

.PHONY: format-check
format-check: ## Fail if a file is not as gofmt writes it
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt-clean: $$unformatted"; exit 1; fi

.PHONY: test-long
test-long: ## Run all tests, the long ones, too; a missing server is a failure
	DISTLOCK_TEST_REAL=1 DISTLOCK_TEST_LONG=1 .ci/test work -timeout=20m -tags=kube

.PHONY: test-valkey
test-valkey: ## Run the quick tests that start a Redis on VALKEY: a name in PATH, or an absolute path
	DISTLOCK_TEST_REDIS=$(VALKEY) .ci/test './backend/redislock ./backend/redlock ./backend/redissonlock ./cmd/distlock' -skip='$(SKIP)'
	DISTLOCK_TEST_REDIS=$(VALKEY) DISTLOCK_TEST_LONG=1 .ci/test './backend/redislock ./backend/redlock ./backend/redissonlock' -run='^Test(Conformance|Script)' -skip='$(SKIP)'

.PHONY: race
race: ## Run the quick tests under the race detector, COUNT times, shuffled
	go test -race -shuffle=on -count=$(COUNT) work

COVERED := ./...

.PHONY: coverage
coverage: ## Write coverage.txt, what the quick tests of the library run, and coverage.json for the badge
	go test -short -coverprofile=coverage.txt -coverpkg="$$(go list $(COVERED) | grep -Ev '/(internal/(test|cookbook)|example_service|locktest)(/|$$)' | paste -sd,)" $(COVERED)
	printf '{"schemaVersion":1,"label":"coverage","message":"%s","color":"blue"}\n' "$$(go tool cover -func=coverage.txt | awk 'END { print $$NF }')" >coverage.json

.PHONY: vet-directives
vet-directives: ## Check the //distlock:lock comments of the examples
	dir=$$(mktemp -d) && trap 'rm -r "$$dir"' EXIT && go build -o "$$dir" ./gen/cmd/distlockvet && \
		go vet -vettool="$$dir/distlockvet" ./examples/annotation ./example_service

.PHONY: bench
bench: ## Run the Go benchmarks
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) work

.PHONY: jmeter
jmeter: ## Run JMeter's plan of the example shop, for USERS times LOOPS orders, with the lock and without (needs Maven and Java)
	USERS=$(USERS) LOOPS=$(LOOPS) example_service/jmeter/run.sh

.PHONY: interop
interop: ## Run distlock beside Java's lock libraries, and write docs/interop.md (needs Java, Maven, redis-server and ZooKeeper)
	DISTLOCK_TEST_REAL=1 DISTLOCK_TEST_LONG=1 go test -count=1 -timeout=20m ./lab/interop -update

.PHONY: peers
peers: ## Set the lock beside other libraries, on a redis-server of its own (10 minutes)
	go run -tags kube ./lab/bench/peers

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME
	for pkg in $$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' work); do \
		for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$$pkg"/*_test.go | sed 's/^func //'); do \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$pkg"; \
		done; \
	done

.PHONY: torture
torture: ## Put BACKEND (redislock, redlock, zklock, sqllock, sqllock-mariadb, etcdlock, etcdlock-cluster, natslock) through DUR of faults; SEED fixes the plan, 0 chooses one
	DISTLOCK_TEST_REAL=1 DISTLOCK_TEST_LONG=1 go test ./lab/proof/torture -run '^TestTorture$$' -v -count=1 -timeout 0 -dur $(DUR) -seed $(SEED) -backend $(BACKEND)

.PHONY: edges
edges: ## Print a table of stores and edges, with seconds and counts: where a lock meets another server, a dead connection, an end
	DISTLOCK_TEST_REAL=1 DISTLOCK_TEST_LONG=1 go test ./lab/proof/edges -run '^TestEdges$$' -v -count=1 | grep -Ev '^ *(===|---)'

.PHONY: simulate
simulate: ## Run SEEDS seeds of redislock in virtual time: faults, histories, a table
	go run ./lab/simulate -seeds $(SEEDS) -for 10s

.PHONY: mutants
mutants: ## Break the kit's rules one by one; a test must notice each
	DISTLOCK_TEST_LONG=1 go test -v -timeout 60m -run 'TestMutant|TestSimulatorFinds' ./lab/mutant ./locktest

.PHONY: spec
spec: ## Check the specification of the lease: every state, what is not promised, and each guard left out (needs spin; quint)
	PATH="$$PWD/bin/.quint/node_modules/.bin:$$PATH" DISTLOCK_TEST_LONG=1 go test -v -count=1 -timeout=30m ./lab/spec

.PHONY: budget
budget: ## Print how large each area is and may be; fail if one is larger
	@go run ./lab/budget

.PHONY: linter
linter:
	@$(GOLANGCI) version

.PHONY: lint
lint: ## Run the linter
	$(GOLANGCI) run $$(go list -m -f '{{.Dir}}/...')

# luacheck reads what is sent to a server: an include alone uses names of other files.
.PHONY: lint-lua
lint-lua: ## Check the Lua scripts (needs luacheck)
	@command -v luacheck >/dev/null || { echo "lint-lua needs luacheck; on Debian: apt-get install lua-check"; exit 1; }
	dir=$$(mktemp -d) && trap 'rm -r "$$dir"' EXIT && go run ./backend/internal/luascript/compose "$$dir" && \
		luacheck --config .ci/luacheckrc --no-color --quiet "$$dir"

.PHONY: lint-workflows
lint-workflows: ## Check the workflows of the forge
	$(ACTIONLINT) -shellcheck= -pyflakes=

.PHONY: vulnerabilities
vulnerabilities: ## Look for known security faults in what each module uses (needs vuln.go.dev)
	for dir in $$(go list -m -f '{{.Dir}}'); do $(GOVULNCHECK) -C "$$dir" ./...; done

SYSTEMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 freebsd/amd64 freebsd/arm64

.PHONY: cross
cross: ## Build cmd/distlock for every system
	for system in $(SYSTEMS); do \
		echo "$$system"; CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} go build -o /dev/null ./cmd/distlock; \
	done

.PHONY: cross-vet
cross-vet: ## Run go vet on PACKAGES as on Windows, on macOS, and where an int has 32 bits, the tests included
	for system in windows/amd64 darwin/arm64 linux/386; do echo "$$system"; GOOS=$${system%/*} GOARCH=$${system#*/} go vet $(PACKAGES); done

.PHONY: binaries
binaries: ## Write the archives of cmd/distlock for every system and their checksums to bin/release
	rm -rf bin/release && mkdir -p bin/release
	for system in $(SYSTEMS); do \
		os=$${system%/*} arch=$${system#*/} exe=; if [ $$os = windows ]; then exe=.exe; fi; \
		dir=$$(mktemp -d); cp LICENSE cmd/distlock/README.md "$$dir"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -ldflags='-s -w' -o "$$dir/distlock$$exe" ./cmd/distlock; \
		tar -C "$$dir" -czf "bin/release/distlock_$${os}_$$arch.tar.gz" .; rm -r "$$dir"; \
	done
	cd bin/release && sha256sum *.tar.gz >SHA256SUMS

.PHONY: image
image: ## Build the container image of cmd/distlock (needs docker, or ENGINE=podman)
	$(ENGINE) build -f cmd/distlock/Dockerfile -t distlock .

.PHONY: generate
generate: ## Write the generated code anew (needs protoc)
	go generate work
	go test ./internal/test/matrix -update

.PHONY: generate-check
generate-check: generate ## Fail if the generated code is not up to date
	git diff --exit-code
	test -z "$$(git status --porcelain)"

# cmd and gen have no replace directives, because go install would refuse them, and go mod
# tidy ignores the workspace: so they have some for as long as that takes. go mod tidy -e
# goes on without a module that only the tests of a module in lab import, and that the
# module proxy does not have.
.PHONY: tidy
tidy: ## Make each go.mod and go.sum tidy
	for mod in . backend/casstores backend/etcdlock backend/sqllock backend/zklock telemetry/otellock telemetry/promlock examples; do go -C "$$mod" mod tidy; done
	go -C lab mod tidy -e
	lib=github.com/distlock-go/distlock; parts="$$lib $$lib/backend/casstores $$lib/backend/etcdlock $$lib/backend/sqllock $$lib/backend/zklock"; \
		trap 'for mod in cmd gen; do for part in $$parts; do go -C $$mod mod edit -dropreplace "$$part"; done; done' EXIT; \
		for mod in cmd gen; do for part in $$parts; do go -C $$mod mod edit -replace "$$part=..$${part#"$$lib"}"; done && go -C $$mod mod tidy; done

.PHONY: tidy-check
tidy-check: tidy ## Fail if a go.mod or go.sum was not tidy
	git diff --exit-code -- '*go.mod' '*go.sum'
