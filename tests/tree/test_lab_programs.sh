#!/usr/bin/env bash
# ctest: long serial
# The programs of single labs, which the tour and `klab run LAB` start, link and start: each holds what its ops' contracts use.
#
#   bash tests/tree/test_lab_programs.sh <klab program> <source folder> <build folder>
set -uo pipefail
source_dir=$2 build=$3
[[ -f $build/build.ninja ]] || { echo "SKIPPED: $build was not made for ninja"; exit 77; }
read -ra programs <<<"$(ninja -C "$build" -t targets all | sed -nE 's/^(klab_[0-9]+(_run)?): phony$/\1/p' | tr '\n' ' ')"
labs=("$source_dir"/labs/[0-9]*/)
((${#programs[@]} >= ${#labs[@]})) || { echo "${#labs[@]} labs, and only ${#programs[@]} programs: ${programs[*]}"; exit 1; }
if ! said=$(ninja -C "$build" "${programs[@]}" 2>&1); then
  echo "$said" | grep -E 'FAILED|undefined|error' | head -20
  exit 1
fi
for program in "$build"/labs/*/run/klab; do
  "$program" --help >/dev/null || { echo "$program does not start"; exit 1; }
done
echo "${#programs[@]} programs link and start"
