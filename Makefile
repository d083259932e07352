# What people run. CI runs the same targets (.ci/run).
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.PHONY: build sweep test lint bench experiments cross clean

# One static binary, ./llmsim-bench.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o llmsim-bench .

# The main job: a sweep on the bundled simulator. SWEEP adds flags, for example
#   make sweep SWEEP="--rates 50,100 --out result.json"
sweep: build
	./llmsim-bench sweep $(SWEEP)

# All tests, with the race detector where a C compiler is there for it.
test:
	@if [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null; then \
		echo "$(GO) test -race ./..."; CGO_ENABLED=1 $(GO) test -race ./...; \
	else \
		echo "No C compiler found: testing without the race detector."; CGO_ENABLED=0 $(GO) test ./...; \
	fi

lint:
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@unformatted=$$($(GO) tool gofumpt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run '$(GO) tool gofumpt -w .':"; echo "$$unformatted"; exit 1; fi

# Benchmarks, then the cost of a token beside a bare loop's.
bench: build
	$(GO) test -run '^$$' -bench . ./...
	$(GO) run ./scripts/tokencost --server ./llmsim-bench

# The experiments: predicts what has no prediction, runs all on live simulators, and
# compares. Fails where something missed its prediction without an explanation.
# Takes about 25 minutes on two cores that do nothing else.
experiments: build
	./llmsim-bench experiments predict
	./llmsim-bench experiments run
	./llmsim-bench experiments diff --write

# Builds for every supported platform, into dist/.
cross:
	GO=$(GO) VERSION=$(VERSION) scripts/cross-compile.sh

clean:
	rm -rf llmsim-bench dist
