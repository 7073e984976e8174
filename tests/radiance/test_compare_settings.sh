#!/usr/bin/env bash
# reports/settings.sh: trains with several settings, keeps what is there, and prints gains over the first.
set -euo pipefail
. "$(dirname "$0")/../common.sh"
in_own_folder
export KLAB=$klab SEEDS="1 2"
small="--downscale 25 --plan last --threads 2 --field gaussians --set initial=60"
compare() { "$root/reports/settings.sh" built-in out "--steps 2" "$small" "$small --set opacity_rate=1"; }
compare >table.txt 2>said.txt || { cat said.txt; fail "does not run"; }
[[ $(wc -l <out/settings.csv) == 5 && $(wc -l <table.txt) == 3 ]] || { cat out/settings.csv table.txt; fail "not two settings of two seeds"; }
# The gain is the mean of the differences within a seed.
awk -F, '$1 == 0 { first[$2] = $5 } $1 == 1 { gain += $5 - first[$2] } END { printf "%+.2f\n", gain / 2 }' out/settings.csv >gain.txt
[[ $(sed -n 3p table.txt | cut -f 2) == "$(cat gain.txt)" ]] || { cat table.txt gain.txt; fail "another gain"; }
[[ $(sed -n 2p table.txt | cut -f 2) == +0.00 ]] || { cat table.txt; fail "the first gains over itself"; }
# Once more: no run is made again.
touch -d '2001-01-01' out/*/result.json
compare >again.txt 2>said.txt
cmp table.txt again.txt || fail "another table of the same runs"
[[ -z $(find out -name result.json -newermt 2002-01-01) ]] || fail "trains again what is there"
refused 'other settings' "$root/reports/settings.sh" built-in out "--steps 2" "$small" "$small --set most=70"
refused 'LENGTH' "$root/reports/settings.sh" built-in other 60 "" "$small"
refused '"mots"' "$root/reports/settings.sh" built-in third "--steps 2" "--field gaussians --set mots=1" ""
echo ok
