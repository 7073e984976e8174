#!/usr/bin/env bash
# Five claims on record, chosen at random among those that take less than a minute, are decided again.
# ctest: long serial
set -euo pipefail
. "$(dirname "$0")/../common.sh"
export XDG_CACHE_HOME=$tmp/cache NO_COLOR=1 KLAB_ROOT=$2
"$klab" claims --check 5 --under 60 | tee "$tmp/out.txt"
[[ $(grep -c '^agrees' "$tmp/out.txt") -eq 5 ]] || { echo "FAILED: not five claims"; exit 1; }
