#!/usr/bin/env bash
# Installs npm packages that tests run, in the versions of a package-lock.json:
# the MCP servers of e2e/mcp into .tools/node, or with the argument mcpclients the
# MCP clients of e2e/mcpclients into .tools/mcpclients. Where there is no Node, it
# says so: the tests that need it are skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ ${1:-} == mcpclients ]]; then
	readonly from=e2e/mcpclients to=.tools/mcpclients
else
	readonly from=e2e/mcp to=.tools/node
fi

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	echo "no node or npm on this machine: tests of MCP in Node are skipped"
	exit 0
fi
if cmp -s "$from/package-lock.json" "$to/installed-lock.json"; then
	exit 0
fi

mkdir -p "$to"
rm -f "$to/installed-lock.json"
cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$to/"
if ! (cd "$to" && npm ci --ignore-scripts --no-progress --loglevel=error); then
	echo "the packages of $from could not be installed: tests that run them are skipped"
	[[ ${CI:-false} == false ]] # nothing is skipped in silence where changes are checked
	exit
fi
cp "$from/package-lock.json" "$to/installed-lock.json" # behind the installation: a broken one is done again
