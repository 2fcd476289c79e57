#!/usr/bin/env bash
# Runs every fuzz target for some seconds (30, or the first argument), two at a
# time. What a target prints is shown when it has ended. A failing input is
# left in the testdata/fuzz of its package, to be committed with its cure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly seconds=${1:-30} at_a_time=2

list_targets() {
	scripts/gofiles.sh | xargs -0 grep -oE '^func Fuzz[A-Z][A-Za-z0-9_]*' /dev/null | sed 's|/[^/]*:func | |' | sort
}

run_target() {
	local dir=$1 target=$2 out
	if out=$(CGO_ENABLED=0 go test -buildvcs=false -trimpath -vet=off -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" -parallel 1 "$dir" 2>&1); then
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
export -f run_target
export seconds

targets=$(list_targets)
if [[ -z $targets ]]; then
	echo "no fuzz targets"
	exit 0
fi
xargs -P "$at_a_time" -L 1 bash -c 'run_target "$@"' run_target <<<"$targets"
