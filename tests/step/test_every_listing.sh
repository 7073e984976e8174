#!/usr/bin/env bash
# Every faulty listing fails its check as it is, and passes as klab repairs it.
# ctest: long
set -uo pipefail
. "$(dirname "$0")/../common.sh"
cd "$tmp" || exit 2
export KLAB_WORK=$tmp/work XDG_CACHE_HOME=$tmp/cache NO_COLOR=1 OMP_WAIT_POLICY=passive KLAB_ROOT=$root
if [[ ! -e $3/libklab_cuda_host.so ]]; then echo "skipped: no CUDA on the host"; exit 77; fi
failures=0 listings=0
for file in "$root"/labs/*/faults/*.listing; do
  lab=${file%/faults/*} number=${file##*/}
  name=$(basename "$lab" | cut -c1-2).fault.${number:0:2}
  "$klab" step "$name" --evidence >bad.txt 2>&1
  grep -qE '^(unsafe|wrong|out of bounds|does not end|not fast enough): ' bad.txt || { cat bad.txt; echo "FAILED: $name is not found wrong"; failures=$((failures + 1)); }
  "$klab" step --check "$name" --with own >good.txt 2>&1 || { cat good.txt; echo "FAILED: $name is not repaired"; failures=$((failures + 1)); }
  echo "$name: $(head -c 150 bad.txt)"
  listings=$((listings + 1))
done
[[ $listings -ge 11 ]] || { echo "FAILED: $listings listings"; failures=1; }
exit $((failures > 0))
