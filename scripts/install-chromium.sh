#!/usr/bin/env bash
# Sees to it that there is a Chromium for the tests of the web page: the one that
# the environment's CHROMIUM names, one of the path, or on Debian and for root
# the distribution's package. Where there is none, it says so: those tests are
# skipped.
set -euo pipefail

found() {
	local name
	for name in chromium chromium-browser google-chrome-stable google-chrome; do
		command -v "$name" >/dev/null && return
	done
	return 1
}

if [[ -n ${CHROMIUM:-} ]]; then
	[[ -x $CHROMIUM ]] && exit 0
	echo "CHROMIUM names $CHROMIUM, which is no program"
	exit 1
fi
found && exit 0
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	echo "installing chromium"
	if { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium; } >/dev/null && found; then
		exit 0
	fi
fi
printf '\n!! no Chromium on this machine: the tests of the web page in a browser are SKIPPED\n\n'
[[ ${CI:-false} == false ]] # nothing is skipped in silence where changes are checked
