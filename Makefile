# For people: the targets that matter, over CMake's presets (CMakePresets.json).
#   make              the command, the library, examples and tools, in build/release
#   make demo         a small model answers a question; sets up all that it needs
#   make test         the whole suite, and most of it again under sanitizers
#   make conformance  against the reference's answers, on real bundles
#   make bench        speed and memory on real bundles
#   make install      PREFIX=/usr/local, DESTDIR=
PREFIX ?= /usr/local
CACHE := $(or $(LITHE_CACHE),$(HOME)/.cache/lithe)
DEMO_BUNDLE := smollm2-135m-int8
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# CMake's own make would announce every folder that it enters.
MAKEFLAGS += --no-print-directory

.PHONY: all deps build asan test check demo conformance bench install clean

all: build

deps:
	@scripts/install-deps.sh

build: deps
	@cmake --preset release --log-level=WARNING -DCMAKE_INSTALL_PREFIX='$(PREFIX)'
	@cmake --build --preset release -j $(JOBS)

asan: deps
	@cmake --preset asan --log-level=WARNING
	@cmake --build --preset asan -j $(JOBS)

# The suite itself comes last, so that its verdict is the last thing on the screen.
test: build asan
	ctest --preset asan -j $(JOBS) --no-label-summary
	ctest --preset release -j $(JOBS) --no-label-summary

check: test

demo: build
	@scripts/demo.sh '$(CACHE)' $(DEMO_BUNDLE)

conformance: build
	@LITHE_CACHE='$(CACHE)' scripts/conformance.sh

bench: build
	@LITHE_CACHE='$(CACHE)' bench/run.sh

install: build
	@cmake --install build/release

clean:
	rm -rf build
