#!/usr/bin/env bash
# Checks the web page: that the bundle in the repository is what its sources
# give, and with the argument "all" also their types and their own tests.
# Without Node it says that it does not, unless changes are checked here (CI).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install-web.sh
[[ -e web/node_modules/.installed-lock.json ]] || exit 0 # it has said so

(cd internal/gateway/web && go run ./generate -check)
if [[ ${1:-} == all ]]; then
	export MEUP_GATEWAY=$PWD/.tools/programs/meup-gateway # make programs
	cd web
	npm run --silent typecheck
	node ../sdk/typescript/build.mjs # for the conformance vectors, too
	npm test --silent
fi
