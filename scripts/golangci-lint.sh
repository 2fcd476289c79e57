#!/usr/bin/env bash
# Prints the path of golangci-lint in the version that this repository is held
# against. It takes one that is installed already, and otherwise builds it into
# the user's cache, for all clones, which takes some minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly version=v2.15.0
readonly own="${XDG_CACHE_HOME:-$HOME/.cache}/meup/golangci-lint-$version"

is_right() {
	[[ -x $1 ]] && [[ "v$("$1" version --short 2>/dev/null)" == "$version" ]]
}

for candidate in "$own/golangci-lint" "$(command -v golangci-lint || true)" "$(go env GOPATH)/bin/golangci-lint"; do
	if is_right "$candidate"; then
		echo "$candidate"
		exit 0
	fi
done

echo "building golangci-lint $version into $own" >&2
GOBIN="$own" go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version" >&2
echo "$own/golangci-lint"
