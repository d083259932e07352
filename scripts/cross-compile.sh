#!/bin/sh
# Builds llmsim-bench for every supported platform into dist/, and lists what it
# built. GO and VERSION may be given by the environment.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
VERSION=${VERSION:-dev}
mkdir -p dist
for os in linux darwin windows; do
	for arch in amd64 arm64; do
		suffix=
		[ "$os" = windows ] && suffix=.exe
		CGO_ENABLED=0 GOOS=$os GOARCH=$arch "$GO" build -trimpath \
			-ldflags "-s -w -X main.version=$VERSION" \
			-o "dist/llmsim-bench-$os-$arch$suffix" .
		echo "dist/llmsim-bench-$os-$arch$suffix"
	done
done
