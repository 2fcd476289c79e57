#!/usr/bin/env bash
# Sees to it that there is a Chromium for the tests of the web page: the one that
# the environment's CHROMIUM names, the headless shell of the path, or on Debian
# and for root the distribution's package. A whole Chromium of the path is used
# where there is no headless shell; the tests take twice as long with it. Where
# there is none at all, it says so: those tests are skipped.
set -euo pipefail

found() {
	local name
	for name; do
		command -v "$name" >/dev/null && return
	done
	return 1
}

if [[ -n ${CHROMIUM:-} ]]; then
	[[ -x $CHROMIUM ]] && exit 0
	echo "CHROMIUM names $CHROMIUM, which is no program"
	exit 1
fi
found chromium-headless-shell chrome-headless-shell && exit 0
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq update >/dev/null || true
	for package in chromium-headless-shell chromium; do
		[[ $package == chromium ]] && found chromium && break
		echo "installing $package"
		apt-get -qq install -y --no-install-recommends "$package" >/dev/null && exit 0
	done
fi
found chromium chromium-browser google-chrome-stable google-chrome && exit 0
printf '\n!! no Chromium on this machine: the tests of the web page in a browser are SKIPPED\n\n'
[[ ${CI:-false} == false ]] # nothing is skipped in silence where changes are checked
