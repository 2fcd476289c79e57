#!/usr/bin/env bash
# Installs the MCP servers that tests run against into .tools/node, in the
# versions of e2e/mcp/package-lock.json. Where there is no Node, it says so:
# the tests that need it are skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly from=e2e/mcp to=.tools/node

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	echo "no node or npm on this machine: tests against MCP servers in Node are skipped"
	exit 0
fi
if cmp -s "$from/package-lock.json" "$to/installed-lock.json"; then
	exit 0
fi

mkdir -p "$to"
rm -f "$to/installed-lock.json"
cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$to/"
if ! (cd "$to" && npm ci --ignore-scripts --no-progress --loglevel=error); then
	echo "the MCP servers in Node could not be installed: tests against them are skipped"
	[[ ${CI:-false} == false ]] # nothing is skipped in silence where changes are checked
	exit
fi
cp "$from/package-lock.json" "$to/installed-lock.json" # behind the installation: a broken one is done again
