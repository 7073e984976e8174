#!/usr/bin/env bash
# What README.md shows is what its recorded runs and the registry give: the blocks are made again and compared.
set -euo pipefail
klab=$1 root=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp "$root/README.md" "$tmp/README.md"
export KLAB=$klab KLAB_ROOT=$root README=$tmp/README.md
bash "$root/reports/readme.sh" --labs
bash "$root/reports/readme.sh" --speed
bash "$root/reports/readme.sh" --train
if ! diff -u "$root/README.md" "$tmp/README.md"; then
  echo "README.md differs from what reports/readme.sh makes; run reports/readme.sh --labs, --speed and --train"
  exit 1
fi
# A table that cannot differ would prove nothing.
sed -i 's/^| `[a-z_]* *`.*//; s/^| \[01\].*//' "$tmp/README.md"
! diff -q "$root/README.md" "$tmp/README.md" >/dev/null
# The reports of the recorded tours have their plots.
if gnuplot --version >/dev/null 2>&1; then
  for rows in "$root"/reports/recorded/*/run.csv; do
    "$klab" report "$rows" -o "$tmp/report.html" >/dev/null
    if grep -o 'There are no plots[^<]*' "$tmp/report.html"; then exit 1; fi
    [[ $(grep -o '<svg' "$tmp/report.html" | wc -l) -gt 10 ]] || { echo "$rows: hardly a plot in its report"; exit 1; }
  done
fi
