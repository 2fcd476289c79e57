#!/usr/bin/env bash
# Writes the path of a Python 3.11 with websockets, for the tests of sdk/python, into
# .tools/python/interpreter: one that is installed, on Debian and for root the distribution's
# packages, or one of its own in .tools/python/venv with the packages of
# sdk/python/requirements.txt. Where that fails, it says so: those tests are skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly to=.tools/python
readonly needs='import sys, websockets; assert sys.version_info >= (3, 11)'
readonly venv='import sys, venv, ensurepip; assert sys.version_info >= (3, 11)'

works() {
	command -v "$1" >/dev/null && "$1" -c "$2" 2>/dev/null
}

found() {
	local python
	for python in "$PWD/$to/venv/bin/python" python3 /usr/bin/python3; do
		if works "$python" "$needs"; then
			command -v "$python" >"$to/interpreter"
			exit 0
		fi
	done
}

mkdir -p "$to"
if [[ -e $to/interpreter ]] && works "$(<"$to/interpreter")" "$needs"; then
	exit 0
fi
rm -f "$to/interpreter"
found

if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	echo "installing python3-websockets"
	if { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3 python3-websockets; } >/dev/null; then
		found
	fi
fi
for python in python3 /usr/bin/python3; do
	if works "$python" "$venv"; then
		echo "installing websockets into $to/venv"
		rm -rf "$to/venv"
		if "$python" -m venv "$to/venv" && "$to/venv/bin/python" -m pip -q --disable-pip-version-check install --require-hashes -r sdk/python/requirements.txt; then
			found
		fi
		break
	fi
done
printf '\n!! no Python 3.11 with websockets on this machine: the tests of sdk/python are SKIPPED\n\n'
[[ ${CI:-false} == false ]] # nothing is skipped in silence where changes are checked
