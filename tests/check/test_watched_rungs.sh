#!/usr/bin/env bash
# Every rung for the processor that starts threads, once with each access watched: no race.
# ctest: long
set -uo pipefail
program=$1 build=$3
grep -q '^KLAB_ASAN:BOOL=ON' "$build/CMakeCache.txt" && { echo "skipped: a sanitizer watches already"; exit 77; }
targets=$(ninja -C "$build" -t targets all)
grep -q '^klab_cpu_watched:' <<<"$targets" || { echo "skipped: threads are watched with GCC only"; exit 77; }
cmake --build "$build" --target klab_cpu_watched >/dev/null || { echo "FAIL: the watched rungs do not compile" >&2; exit 1; }
said=$(KLAB_WATCHED_RUNGS=$build/tests/libklab_cpu_watched.so "$program" check --backend cpu 2>&1)
code=$?
watched=$(grep -c 'threads watched, no race' <<<"$said")
echo "$watched rungs watched"
if ((code != 0 || watched < 60)); then
  grep -v ' ok ' <<<"$said" | tail -40 >&2
  echo "FAIL: exit code $code, $watched rungs watched" >&2
  exit 1
fi
