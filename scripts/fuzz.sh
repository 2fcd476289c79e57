#!/usr/bin/env bash
# Runs every fuzz target for some seconds (30, or the first argument), two at a
# time. What a target prints is shown when it has ended. A failing input is
# left in the testdata/fuzz of its package, to be committed with its cure.
#
# Only the packages of this module are compiled with the instrumentation that
# guides the fuzzing: go test -fuzz compiles all dependencies with it too, which
# takes longer, and makes the targets slower. An input is made smaller for a
# second at most: the usual minute is all the time that a slow target has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly seconds=${1:-30} at_a_time=2
export CGO_ENABLED=0

module=$(go list -m)
cache=$(go env GOCACHE)/fuzz/$module
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT

run_target() {
	local dir=$1 target=$2 program=$3 out
	if out=$(cd "$dir" && "$program" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${seconds}s" -test.timeout "$((seconds + 600))s" \
		-test.parallel 1 -test.fuzzminimizetime 1s -test.fuzzcachedir "$cache/$dir" 2>&1); then
		echo "fuzz $dir $target: $(grep -oE 'execs: [0-9]+' <<<"$out" | tail -n 1)"
		return
	fi
	# Go before 1.27 may report the end of the time itself as a failure (Go issue
	# 75804). A target that did fail has left the input behind.
	if grep -qx ' *context deadline exceeded' <<<"$out" && ! grep -qE 'Failing input|panic:|race detected' <<<"$out"; then
		echo "fuzz $dir $target: ended by its time"
		return
	fi
	printf 'fuzz %s %s: FAILED\n%s\n' "$dir" "$target" "$out"
	return 1
}

# run_package runs the targets of a package.
run_package() {
	local dir=$1 program failed=0 target
	program=$programs/${dir//\//_}.test
	go test -c -buildvcs=false -trimpath -vet=off -ldflags=-w -gcflags="$module/...=-d=libfuzzer" -o "$program" "./$dir" || return 1
	for target in $(cat "$dir"/*_test.go | grep -oE '^func Fuzz[A-Z][A-Za-z0-9_]*' | sed 's/^func //' | sort); do
		run_target "$dir" "$target" "$program" || failed=1
	done
	rm -f "$program"
	return "$failed"
}
export -f run_target run_package
export seconds module cache programs

dirs=$(scripts/gofiles.sh | xargs -0 grep -lE '^func Fuzz[A-Z]' | xargs -n 1 dirname | sed 's|^\./||' | sort -u)
if [[ -z $dirs ]]; then
	echo "no fuzz targets"
	exit 0
fi
xargs -P "$at_a_time" -L 1 bash -c 'run_package "$@"' run_package <<<"$dirs"
