#!/usr/bin/env bash
# sanitized.sh ROOT [COMMIT]: prints the rooms and ops that differ from a commit, for KLAB_SANITIZE of Sanitized.cmake; `all`
# where that cannot be known, and why on standard error. The commit is that of tests/sanitized_commit, the last one that was
# sanitized whole. An op differs when one of its files or a header that these include differs.
set -uo pipefail
root=$(cd -- "$1" && pwd -P)
cd "$root" || exit 2
all() { echo "klab: sanitizing everything: $*" >&2; echo all; exit 0; }

[[ $(git rev-parse --show-toplevel 2>/dev/null) == "$root" ]] || all "this is no git checkout, so what changed is not known"
commit=${2:-}
[[ -n $commit ]] || read -r commit _ <tests/sanitized_commit 2>/dev/null || all "tests/sanitized_commit is missing"
[[ $commit =~ ^[0-9a-f]{7,40}$ ]] || all "tests/sanitized_commit names no commit"
git rev-parse --verify --quiet "$commit^{commit}" >/dev/null || all "commit $commit of tests/sanitized_commit is not in this checkout"

changed=$({ git diff --name-only --no-renames "$commit" -- && git ls-files --others --exclude-standard; } | grep -E '\.(cpp|h)$' | sort -u)
# Who includes whom in contracts and kernels, then every file that includes a changed one, however indirectly.
includes=$(grep -rnoE --include='*.h' --include='*.cpp' '^#include "(reference|kernels)/[^"]+"' reference kernels | sed -E 's/:[0-9]+:#include "/ /; s/"$//')
affected=$(awk 'NR == FNR { if ($0 != "") hit[$0] = 1; next }
  { from[NR] = $1; to[NR] = $2 }
  END { do { more = 0
             for (i in from) if ((to[i] in hit) && !(from[i] in hit)) { hit[from[i]] = 1; more = 1 } } while (more)
        for (f in hit) print f }' <(printf '%s\n' "$changed") <(printf '%s\n' "$includes"))

printf '%s\n' "$affected" | while IFS= read -r file; do
  case $file in
    kernels/common/*) ;;
    kernels/*/cuda/*) ;;
    kernels/*/*) op=${file#kernels/}; [[ ! -d reference/${op%%/*} ]] || echo "op:${op%%/*}" ;;
    reference/*/*) op=${file#reference/}; [[ ! -d reference/${op%%/*} ]] || echo "op:${op%%/*}" ;;
    harness/*/*) room=${file#harness/}; [[ ! -d harness/${room%%/*} ]] || echo "harness/${room%%/*}" ;;
    labs/radiance/*/* | labs/learning/*/* | labs/*/commands/* | labs/*/train/*) room=${file%/*}; [[ ! -d $room ]] || echo "$room" ;;
  esac
done | sort -u | paste -sd ';'
