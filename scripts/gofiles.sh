#!/usr/bin/env bash
# Lists the Go sources of this repository, each ended by a zero byte.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

find . \( -name .git -o -name .tools -o -name bin -o -name node_modules -o -name testdata \) -prune \
	-o -name '*.go' -print0
