#!/usr/bin/env bash
# The inputs of a check meet every boundary of every contract, also where the first rung is checked alone, at fewer shapes.
# ctest: long
set -uo pipefail
failed=0
for what in '*' '*.cpu.01_*'; do
  out=$("$1" check --boundaries "$what") || { echo "FAILED: klab check --boundaries '$what' ends with $?"; sed -n '/^Not met/,$p' <<<"$out"; failed=1; }
  grep -qE '^[0-9]+ ops: coverage ([0-9]+) of \1$' <<<"$(tail -1 <<<"$out")" || { echo "FAILED: the last line of '$what' is $(tail -1 <<<"$out")"; failed=1; }
done
exit $failed
