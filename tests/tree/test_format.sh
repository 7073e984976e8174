#!/usr/bin/env bash
# Every C++ file follows .clang-format. Version 14 decides; others differ in details.
set -euo pipefail
cd "$2"
format=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $format ]] || ! grep -q 'version 14\.' <<<"$("$format" --version)"; then
  echo "skipped: clang-format 14 is not installed"
  exit 77
fi
wrong=$(find reference kernels harness labs python tests -type f \
  \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 "$format" --dry-run 2>&1 | sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: warning: .*/\1/p' | sort | uniq -c)
[[ -z $wrong ]] && exit 0
printf 'not formatted (places, file); ./klab format does it:\n%s\n' "$wrong"
exit 1
