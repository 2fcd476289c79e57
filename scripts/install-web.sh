#!/usr/bin/env bash
# Installs what the web page is built from into web/node_modules, in the
# versions of web/package-lock.json. Where there is no Node, it says so: whether
# the bundle is current and the page's own tests are not checked there. The
# bundle itself is part of the repository, so that the programs need Go alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../web"

readonly done=node_modules/.installed-lock.json

skip() {
	printf '\n!! %s: the web page is NOT checked\n\n' "$1"
	[[ ${CI:-false} == false ]] # nothing is skipped in silence where changes are checked
	exit
}

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	skip "no node or npm on this machine"
fi
if cmp -s package-lock.json "$done"; then
	exit 0
fi
rm -f "$done"
if ! npm ci --ignore-scripts --no-progress --loglevel=error; then
	skip "what the web page is built from could not be installed"
fi
cp package-lock.json "$done" # behind the installation: a broken one is done again
