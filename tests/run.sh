#!/usr/bin/env bash
# run.sh MODE ROOT BUILDS [CTEST_ARGUMENTS...]: runs the tests that `klab test` has built, those of the sanitizer build too.
#
#   MODE default  all but those marked `long`
#   MODE all      every test, and nothing is taken as passed before; on a clean checkout, a green run of the sanitized tests moves
#                 tests/sanitized_commit
#   MODE sanitized  that second half of `all` without the first
#   MODE fast     those nearest to what changed, at most five minutes of processor time
#
# A test that passed with the same programs, files, data and machine is not run again: it is listed as `passed before`. What
# passed is written down test by test, so that an interrupted run continues where it was.
set -uo pipefail
mode=$1 root=$2 builds=$3
shift 3
cores=$(nproc 2>/dev/null || echo 1)
most_seconds=280  # of `fast`: five minutes with a reserve for starting
ran=0 failed=0 skipped=0 before=0 reports=

say() { printf 'klab: %s\n' "$*" >&2; }
digest() { sha256sum | cut -c1-32; }
awk() { LC_ALL=C command awk "$@"; }  # numbers have a point, whatever the locale of the tests

# Everything of this checkout that a test may read, by content.
tree_files() {  # grep -E pattern of paths, and one of paths that are left out
  cd "$root" || exit 2
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then git ls-files -z --cached --others --exclude-standard
  else find . -path ./build -prune -o -path ./runs -prune -o -path ./work -prune -o -type f -printf '%P\0'; fi |
    grep -zE "$1" | grep -zvE "$2" | sort -zu | xargs -0 -r sha256sum 2>/dev/null | digest
}
machine() {
  grep -m1 '^model name' /proc/cpuinfo 2>/dev/null
  grep -m1 '^flags' /proc/cpuinfo 2>/dev/null
  grep -m1 '^MemTotal' /proc/meminfo 2>/dev/null
  cat /sys/devices/system/cpu/cpu0/cache/index*/size 2>/dev/null
  echo "$cores $(uname -sr)"
  env | grep -E '^(KLAB_|OMP_|LC_|LANG)' | grep -v '^KLAB_ROOT=' | sort
}
data() { ls -lR --time-style=+%s "$root/../shared/data" 2>/dev/null; }

# contents: "digest path" of the files whose names come in. The commit and state that a program names do not count (build_info.cpp.in).
contents() {
  local file
  sort -z | while IFS= read -r -d '' file; do
    printf '%s %s\n' "$(LC_ALL=C sed -E 's/klab built from commit [^ ]+ (clean|changed)\x00*//' "$file" | digest)" "$file"
  done
}

# list DIR CTEST_ARGUMENTS...: "number name key" of each test there. A key changes with whatever the test's result can depend on:
#   the program that holds it, or its script; all programs and modules that are no tests; machine and data; and of this checkout
#   the fixtures (rooms that read nothing else), everything but other tests (most scripts), or everything, other tests' programs
#   included (tree/).
list() {
  local dir=$1 own base tests='^tests/(tree/|[^/]+/test_[^/]*\.(cpp|sh)$|run\.sh$|sanitized|Sanitized|CMakeLists)'
  shift
  own=$(cd "$dir" && find tests -maxdepth 1 -type f -name 'test_*' -perm -u+x -print0 2>/dev/null | contents)
  base=$( { cd "$dir" && find . -maxdepth 2 -type f \( -perm -u+x -o -name '*.so' \) ! -path './tests/test_*' -print0 | contents
            find cuda -type f -print0 2>/dev/null | contents; machine; data; } | digest)
  { echo "$own" | awk 'NF { print "own", $1, $2 }'
    (cd "$root" && find tests -path 'tests/*/test_*.sh' -print0 | contents) | awk '{ print "script", $1, $2 }'
    echo "base $base"
    echo "fixtures $(tree_files '^(tests|examples|reference|kernels)/' "$tests")"
    echo "tree $(tree_files . "$tests")"
    echo "whole $( { echo "$own"; tree_files . '^$'; } | digest)"
    (cd "$dir" && ctest -N -V "$@") | sed -nE -e 's/^[0-9]+: Test command: (\S+)( "([^"]*)")?.*/command \1 \3/p' -e 's/^ *Test +#([0-9]+): (.*)$/test \1 \2/p'
  } | awk -v dir="$dir/" -v root="$root/" '
    function below(folder, path) { return index(path, folder) == 1 ? substr(path, length(folder) + 1) : path }
    $1 == "own" || $1 == "script" { digest[$3] = $2; next }
    $1 == "command" { program = below(dir, $2); script = below(root, $3); next }
    $1 != "test" { digest[$1] = $2; next }
    { reads = "tree"; mine = "-"
      if (script in digest) { mine = digest[script]; if (script ~ /^tests\/tree\//) reads = "whole" }
      else if (program in digest) {
        mine = digest[program]
        if ($3 ~ /^tree\./) reads = "whole"
        else if ($3 ~ /^(check|core|compare|kernels|learning|fuzz|simt|timing|radiance|program|gpu)\./) reads = "fixtures"
      } else if ($3 == "check") reads = "fixtures"
      print $2, $3, digest["base"] "." digest[reads] "." mine }'
}

# failures_of LOG BUILD: of each failed test the end of what it printed. Shown again below all else, since it is often the end of a long
# output that is kept or read.
failures_of() {
  awk -v build="$2" -v most=40 '
    function show(  i) {
      if (name == "") return
      while (n > 0 && line[n] ~ /^[ \t]*$/) n--
      printf "\n== %s (%s)%s\n", name, build, (n > most ? ", the last " most " lines:" : ":")
      for (i = n > most ? n - most + 1 : 1; i <= n; i++) print "  " line[i]
      name = ""
    }
    /^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: / {
      show()
      if ($0 ~ /\*\*\*(Failed|Timeout|Exception|Not Run)|Subprocess/) { match($0, /#[0-9]+: [^ ]+/); name = substr($0, RSTART, RLENGTH); sub(/^#[0-9]+: /, "", name); n = 0 }
      next
    }
    /^ *Start +[0-9]+: |^[0-9]+% tests passed/ { show(); next }
    name != "" { line[++n] = $0 }
    END { show() }' "$1"
}

# run DIR CTEST_ARGUMENTS...: runs what has not passed before there.
run() {
  local dir=$1 list all name number key chosen asked answered passed=$1/passed.txt log=$1/ctest.log
  local -A key_of=()
  shift
  touch "$passed"
  [[ $mode != all && $mode != sanitized ]] || : >"$passed"
  list=$(list "$dir" "$@")
  [[ -n $list ]] || { say "no tests were found in $dir: the build is incomplete"; return 2; }
  all=$list
  while read -r number name key; do key_of[$name]=$key; done <<<"$list"
  if [[ $mode == fast ]]; then list=$(nearest "$dir" "$list"); fi
  chosen=$(awk '{ print $3, $1, $2 }' <<<"$list" | awk -v told="$dir/passed_before.txt" -v passed="$passed" 'BEGIN { printf "" >told }
      FILENAME == passed { has[$1 " " $2] = 1; next }
      ($1 " " $3) in has { room = $3; sub(/\..*/, "", room); n[room]++; print $3 >told; next }
      { print $2 }
      END { for (room in n) printf "klab: passed before: %s (%d)\n", room, n[room] >"/dev/stderr" }' "$passed" -)
  before=$((before + $(wc -l <"$dir/passed_before.txt")))
  [[ -s $dir/passed_before.txt ]] && say "their names are in $dir/passed_before.txt; ./klab test --all runs them again"
  [[ -n $chosen ]] || return 0
  # Where labels or names filter, -I counts only the tests that are left, whatever number they are listed with.
  chosen=$(awk 'NR == FNR { place[$1] = FNR; next } { print place[$1] }' <(printf '%s\n' "$all") <(printf '%s\n' "$chosen"))
  printf '0,0,0,%s\n' "$(paste -sd, <<<"$chosen")" >"$dir/chosen.txt"
  : >"$log"
  # Line by line, so that what is shown and what is written down are never behind.
  (cd "$dir" && ctest --output-on-failure --parallel "$cores" -I chosen.txt "$@") 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line"
    printf '%s\n' "$line" >>"$log"
    if [[ $line =~ \ Test\ +\#[0-9]+:\ ([^ ]+)\ .*\ Passed\ +([0-9.]+)\ sec ]]; then
      name=${BASH_REMATCH[1]}
      printf '%s %s\n' "${key_of[$name]}" "$name" >>"$passed"
      printf '%s %s\n' "${BASH_REMATCH[2]}" "$name" >>"$dir/times.txt"
    fi
  done
  local code=${PIPESTATUS[0]}
  ran=$((ran + $(grep -cE '   Passed +[0-9.]+ sec' "$log")))
  skipped=$((skipped + $(grep -cE '\*\*\*Skipped' "$log")))
  reports+=$(failures_of "$log" "${dir##*/}")
  failed=$((failed + $(grep -cE ' Test +#[0-9]+: .*(\*\*\*Failed|\*\*\*Timeout|\*\*\*Exception|\*\*\*Not Run|Subprocess)' "$log")))
  [[ $code -eq 0 || $failed -gt 0 ]] || failed=$((failed + 1))
  asked=$(wc -l <<<"$chosen") answered=$(grep -cE '^ *[0-9]+/[0-9]+ +Test +#' "$log")
  if [[ $asked -ne $answered ]]; then
    say "$answered of $asked tests of $dir ended: see $log"
    failed=$((failed + 1)) code=8
  fi
  return "$code"
}

# What changed against the main branch, or, where nothing did, in the last commit.
changed_files() {
  cd "$root" || exit 2
  local main base
  rm -f "$builds/changed_since.txt"
  if [[ $(git rev-parse --show-toplevel 2>/dev/null) != "$root" ]]; then
    say "this is no git checkout, so what changed is not known: the short tests of all rooms are run"
    return
  fi
  for main in origin/HEAD origin/main main ""; do
    [[ -n $main ]] || { say "no main branch was found (origin/main, main): compared with the last commit"; break; }
    git rev-parse --verify --quiet "$main^{commit}" >/dev/null && break
  done
  base=$(git merge-base HEAD "${main:-HEAD}" 2>/dev/null || git rev-parse HEAD)
  { git diff --name-only "$base" --; git ls-files --others --exclude-standard; } | sort -u >"$builds/changed.txt"
  [[ -s $builds/changed.txt ]] || git diff --name-only HEAD~1 HEAD -- >"$builds/changed.txt" 2>/dev/null
  printf '%s\n' "$base" >"$builds/changed_since.txt"
  cat "$builds/changed.txt"
}

# Checks the variants of the ops that changed, as far as the time allows: some seconds each.
check_changed_ops() {
  local ops=() most=30
  [[ -s $builds/changed_since.txt ]] || return 0
  mapfile -t ops < <({ bash "$root/tests/sanitized.sh" "$root" "$(<"$builds/changed_since.txt")" 2>/dev/null | tr ';' '\n' | sed -n 's/^op://p'
    sed -nE 's,^(kernels|reference)/([^/]+)/.*,\2,p' "$builds/changed.txt"; } | sort -u | while read -r op; do
    [[ ! -d $root/reference/$op ]] || echo "$op"
  done)
  [[ ${#ops[@]} -gt 0 ]] || return 0
  [[ ${#ops[@]} -le $most ]] || say "of ${#ops[@]} changed ops $most are checked here; ./klab test checks all"
  echo "Checking ${ops[*]:0:most}:"
  if "$builds/release/klab" check --remember "${ops[@]:0:most}"; then ran=$((ran + 1)); else failed=$((failed + 1)); return 1; fi
}

# nearest DIR LIST: of numbered tests those nearest to the change, by includes, as far as their processor time allows.
nearest() {
  local dir=$1 changed order
  changed=$(changed_files)
  # An edge leads from a file to those that it includes; a header leads to its source, a contract to its kernels.
  order=$(cd "$root" && awk 'NR == FNR { if ($0 != "") { at[$0] = 0 }; next }
      { from[NR] = $1; to[NR] = $2 }
      END { for (d = 0; d < 12; d++) { more = 0
              for (i in from) if ((to[i] in at) && at[to[i]] == d && !(from[i] in at)) { at[from[i]] = d + 1; more = 1 }
              if (!more) break }
            for (f in at) if (f ~ /^tests\/.*\/test_/) print at[f], f }' \
    <(printf '%s\n' "$changed") \
    <(grep -rnoE --include='*.h' --include='*.cpp' --include='*.sh' '^#include "[a-z]+/[^"]+"' harness labs reference kernels tests | sed -E 's/:[0-9]+:#include "/ /; s/"$//'
      find harness labs reference -name '*.cpp' | sed -E 's/^(.*)\.cpp$/\1.h \1.cpp/'
      find kernels -path '*/c[pu]*/*' -name '*.c[pu]*' | sed -E 's,^kernels/([^/]+)/.*$,reference/\1/\1.h &,') | sort -n)
  local tests=()
  # Room and suite of each test of those files, with their distance; rules about the tree come first, they are short.
  { find "$root/tests/tree" -name 'test_*.cpp' | sed "s,^$root/,0 ,"; printf '%s\n' "$order"; } | while read -r distance file; do
    [[ -f $root/$file ]] || continue
    case $file in
      *.sh) name=${file##*/}; echo "$distance ${name%.sh}" ;;
      *) room=${file#tests/}; sed -nE "s/^TEST(_F|_P)?\(([A-Za-z0-9_]+), *([A-Za-z0-9_]+)\).*/$distance ${room%%/*} \2.\3/p" "$root/$file" ;;
    esac
  done >"$dir/nearest.txt"
  [[ -n $changed ]] || printf '%s\n' "$2" | awk '{ print 9, $2 }' >>"$dir/nearest.txt"
  local slow
  slow=$(cd "$dir" && ctest -N -L 'slow|long' | sed -nE 's/^ *Test +#([0-9]+): .*$/\1/p' | paste -sd' ')
  touch "$dir/times.txt"
  awk -v most="$most_seconds" -v slow=" $slow " -v left="$dir/left_out.txt" 'BEGIN { printf "" >left }
    FILENAME ~ /times.txt$/ { took[$2] = $1; next }
    FILENAME ~ /nearest.txt$/ { d = $1; key = NF == 3 ? $2 "|" $3 : $2; if (!(key in at) || d < at[key]) at[key] = d; next }
    { name = $2; best = 99; split(name, part, ".")
      for (key in at) { n = split(key, k, "|")
        if (n == 1) { if (name == key && at[key] < best) best = at[key] }
        else if (k[1] == part[1] && index(name, k[2]) && at[key] < best) best = at[key] }
      if (best < 99 && index(slow, " " $1 " ") == 0) { rank[++count] = best; line[count] = $0; cost[count] = (name in took) ? took[name] : 0.4 } }
    END { for (d = 0; d <= 12; d++) for (i = 1; i <= count; i++) if (rank[i] == d) {
            if (sum + cost[i] <= most) { sum += cost[i]; print line[i] } else print line[i] >left } }' \
    "$dir/times.txt" "$dir/nearest.txt" <(printf '%s\n' "$2")
  [[ ! -s $dir/left_out.txt ]] || say "$(wc -l <"$dir/left_out.txt") tests that the change may reach are left to ./klab test: $dir/left_out.txt"
}

# Results kept by `klab check --remember` are forgotten as well.
[[ $mode != all ]] || rm -f -- "${XDG_CACHE_HOME:-$HOME/.cache}/klab/passed.json"
exec 8>>"$builds/.testing" || { say "cannot write to $builds"; exit 2; }
if command -v flock >/dev/null && ! flock -n 8; then
  say "waiting for another klab test in $builds"
  flock 8
fi
labels=(-LE '^long$') sanitized=
[[ $mode != all && $mode != sanitized ]] || labels=()
code=0
[[ $mode == sanitized ]] || run "$builds/release" "${labels[@]}" "$@" || code=$?
[[ $mode != sanitized || -f $builds/asan/build.ninja ]] || { say "there is no sanitized build in $builds: ./klab test --sanitized makes it"; exit 2; }
if [[ $mode == fast ]]; then check_changed_ops || code=1; fi
if [[ $mode != fast && $code -ne 2 && -f $builds/asan/build.ninja ]]; then
  echo "Under the sanitizers:"
  if run "$builds/asan" "${labels[@]}" "$@"; then sanitized=whole; else [[ $code -ne 0 ]] || code=$?; fi
fi

# A failure without sanitizers says nothing about what they saw. Tests that were picked by arguments are not the whole.
if [[ ($mode == all || $mode == sanitized) && $sanitized == whole && $# -eq 0 ]]; then
  cd "$root" || exit 2
  if [[ $(git rev-parse --show-toplevel 2>/dev/null) != "$root" ]]; then say "this is no git checkout: no commit was noted as sanitized"
  elif [[ -n $(git status --porcelain) ]]; then say "the checkout has changes that are not committed: tests/sanitized_commit stays as it is"
  else
    git rev-parse HEAD >tests/sanitized_commit.new && mv tests/sanitized_commit.new tests/sanitized_commit
    say "tests/sanitized_commit names this commit now: commit that file"
  fi
fi
[[ -z $reports ]] || printf 'What the failed tests said:\n%s\n' "$reports"
[[ $before -eq 0 ]] || echo "passed before: $before"
echo "$ran passed, $failed failed, $skipped skipped"
[[ $code -eq 0 ]] || exit 1
