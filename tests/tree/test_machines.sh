#!/usr/bin/env bash
# The fast tests on machines unlike the one that klab was written on: a line a condition, and red where one of them is.
# ctest: long serial
#
#   bash tests/tree/test_machines.sh <klab program> <source folder> <build folder>
#
# KLAB_MACHINES=core,cache,space,home,locale,perf,landlock,busy,isa   only these conditions (default: all)
# KLAB_MACHINES_TESTS=REGEX                                          only tests whose names match (ctest -R)
set -uo pipefail
program=$1 root=$2 build=$3
chosen=${KLAB_MACHINES:-core,cache,space,home,locale,perf,landlock,busy,isa}
tests=${KLAB_MACHINES_TESTS:-}
for name in ${chosen//,/ }; do
  [[ " core cache space home locale perf landlock busy isa " == *" $name "* ]] ||
    { echo "KLAB_MACHINES has no condition '$name': core, cache, space, home, locale, perf, landlock, busy, isa" >&2; exit 2; }
done
[[ -f $build/CTestTestfile.cmake && -x $program ]] || { echo "$build has no tests and no klab: build klab first" >&2; exit 2; }
tmp=$(mktemp -d)
spinner=
# A folder that may not be written to could not be removed.
trap '[[ -z $spinner ]] || kill "$spinner" 2>/dev/null; chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
passed=0 failed=0 skipped=0

wanted() { [[ ,$chosen, == *,$1,* ]]; }
skip() { skipped=$((skipped + 1)); echo "skipped  $1: $2"; }

# fast_tests BUILD: the numbers of its fast tests, as `ctest -I` takes them: those that took at most three seconds the last time,
# and all of the rooms and suites whose subject is the machine.
fast_tests() {
  touch "$build/times.txt"
  # The numbers are those of the whole list: with -E or -R, ctest counts only what is left.
  ctest --test-dir "$1" -N -LE 'slow|long' | sed -nE 's/^ *Test +#[0-9]+: (.*)$/\1/p' >"$tmp/not_slow"
  ctest --test-dir "$1" -N | sed -nE 's/^ *Test +#([0-9]+): (.*)$/\1 \2/p' |
    awk -v tests="$tests" -v not_slow="$tmp/not_slow" '
      FILENAME == not_slow { candidate[$1] = 1; next }
      FILENAME != "-" { took[$2] = $1; next }
      !($2 in candidate) || $2 !~ tests { next }
      # These take the whole of a tree or start builds, and depend on nothing of the machine.
      $2 ~ /^(check|sanitizer\..*|test_clang|test_launcher|test_machines)$/ { next }
      took[$2] <= 3 || $2 ~ /^(timing|core)\.|Fitted|Budget|Doctor|Ceiling/ { printf ",%s", $1; n++ }
      END { exit n == 0 }' "$tmp/not_slow" "$build/times.txt" - | sed 's/^/0,0,0/'
}

# condition NAME BUILD COMMAND...: the fast tests of a build, started by the command.
condition() {
  local name=$1 dir=$2 log=$tmp/log begin=$SECONDS at_once; shift 2
  at_once=$(nproc)
  [[ $name != "one core" ]] || at_once=1
  if fast_tests "$dir" >"$tmp/chosen" && [[ -s $tmp/chosen ]] &&
    "$@" ctest --test-dir "$dir" -I "$tmp/chosen" --parallel "$at_once" --no-tests=error --timeout 900 >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "passed   $name: $(grep -oE '[0-9]+% tests passed.*' "$log"), $((SECONDS - begin)) s"
  else
    failed=$((failed + 1))
    echo "failed   $name: $(grep -oE '[0-9]+% tests passed.*' "$log" || tail -1 "$log"), $((SECONDS - begin)) s"
    sed -n '/The following tests FAILED/,$p' "$log" | sed 's/^/           /'
    cp "$log" "$build/test_machines_${name//[^A-Za-z0-9]/_}.log"
  fi
}

# without_landlock COMMAND...: a seccomp filter makes the three calls of Landlock fail as on a kernel that has none.
cat >"$tmp/no_landlock.py" <<'P'
import ctypes, errno, os, struct, sys
calls = (444, 445, 446)  # landlock_create_ruleset, _add_rule, _restrict_self, by the same numbers on all processors
load, equal, give = 0x20, 0x15, 0x06  # BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K
code = [(load, 0, 0, 0)]  # seccomp_data.nr
for left, call in zip((2, 1, 0), calls):
    code.append((equal, left + 1, 0, call))
code += [(give, 0, 0, 0x7FFF0000), (give, 0, 0, 0x00050000 | errno.ENOSYS)]
filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *c) for c in code))
program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(filters)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
    sys.exit("no seccomp filters here: " + os.strerror(ctypes.get_errno()))
if libc.syscall(444, None, 0, 1) != -1 or ctypes.get_errno() != errno.ENOSYS:
    sys.exit("Landlock is still there")
os.execvp(sys.argv[1], sys.argv[1:])
P
without_landlock() { python3 "$tmp/no_landlock.py" "$@"; }

limited() { (ulimit -v 6000000 && exec "$@"); }  # kB

if wanted core; then
  if command -v taskset >/dev/null; then condition "one core" "$build" taskset -c "$(taskset -pc $$ | grep -oE '[0-9]+' | sed -n 2p)"
  else skip "one core" "no taskset here"; fi
fi

if wanted cache; then
  for size in 2MB 32MB 300MB 1GB; do
    condition "a last-level cache of $size" "$build" env KLAB_LAST_LEVEL_CACHE=$size
  done
fi

if wanted space; then
  if grep -q '^KLAB_ASAN:BOOL=ON' "$build/CMakeCache.txt"; then skip "6 GB of address space" "the address sanitizer reserves more"
  else condition "6 GB of address space" "$build" limited; fi
fi

if wanted home; then
  mkdir "$tmp/home"
  chmod a-w "$tmp/home"
  # Root writes everywhere, but not to a file system that is mounted for reading.
  if [[ $(id -u) -ne 0 ]]; then
    condition "a read-only home" "$build" env -u XDG_CACHE_HOME HOME="$tmp/home"
  elif unshare --mount sh -c "mount --bind '$tmp/home' '$tmp/home' && mount -o remount,bind,ro '$tmp/home'" 2>/dev/null; then
    condition "a read-only home" "$build" env -u XDG_CACHE_HOME HOME="$tmp/home" unshare --mount sh -c \
      "mount --bind '$tmp/home' '$tmp/home' && mount -o remount,bind,ro '$tmp/home' && exec \"\$@\"" sh
  else
    # Below a file no folder can be made, by root neither.
    touch "$tmp/no_folder"
    condition "a home that cannot be written (a file)" "$build" env -u XDG_CACHE_HOME HOME="$tmp/no_folder"
  fi
fi

if wanted locale; then
  path=
  if ! locale -a 2>/dev/null | grep -ix 'de_DE.utf-\?8' >/dev/null; then
    mkdir "$tmp/locales"
    localedef -i de_DE -f UTF-8 "$tmp/locales/de_DE.UTF-8" 2>/dev/null && path=$tmp/locales
  fi
  if [[ $(LOCPATH=${path:-${LOCPATH:-}} LC_ALL=de_DE.UTF-8 locale decimal_point 2>/dev/null) == , ]]; then
    condition "a comma for the decimal point" "$build" env ${path:+LOCPATH=$path} LANG=de_DE.UTF-8 LC_ALL=de_DE.UTF-8
  else
    skip "a comma for the decimal point" "no de_DE.UTF-8 here (apt install locales-all)"
  fi
fi

if wanted perf; then
  # All programs of PATH but perf, by links.
  mkdir "$tmp/bin"
  IFS=: read -ra folders <<<"$PATH"
  for folder in "${folders[@]}"; do
    for file in "$folder"/*; do
      name=${file##*/}
      [[ -x $file && $name != perf && $name != perf_* && ! -e $tmp/bin/$name ]] && ln -s "$file" "$tmp/bin/$name"
    done
  done
  condition "no perf" "$build" env PATH="$tmp/bin"
fi

if wanted landlock; then
  if without_landlock true 2>"$tmp/err"; then condition "no Landlock" "$build" without_landlock
  else skip "no Landlock" "$(tail -1 "$tmp/err")"; fi
fi

if wanted busy; then
  (while :; do :; done) & spinner=$!
  condition "a busy core" "$build" env
  kill "$spinner"; wait "$spinner" 2>/dev/null; spinner=
fi

if wanted isa; then
  # Only what the chosen tests start is compiled.
  other=$tmp/avx2
  if ! grep -qw avx2 /proc/cpuinfo; then
    skip "a build for AVX2 only" "this processor has no AVX2"
  elif ! grep -q KLAB_ISAS "$root/CMakeLists.txt" "$root"/cmake/*.cmake; then
    skip "a build for AVX2 only" "this tree has no KLAB_ISAS"
  else
    fast_tests "$build" >"$tmp/chosen"
    mapfile -t programs < <(ctest --test-dir "$build" -I "$tmp/chosen" --show-only=json-v1 2>/dev/null |
      grep -oE "\"$build/tests/test_[a-z]+\"" | grep -oE 'test_[a-z]+' | sort -u)
    if cmake -S "$root" -B "$other" -G Ninja -DCMAKE_BUILD_TYPE=Release -DKLAB_ISAS=AVX2 >"$tmp/log" 2>&1 &&
      cmake --build "$other" --target klab "${programs[@]}" >>"$tmp/log" 2>&1; then
      condition "a build for AVX2 only" "$other" env
    else
      failed=$((failed + 1))
      echo "failed   a build for AVX2 only: $(tail -1 "$tmp/log")"
      cp "$tmp/log" "$build/test_machines_avx2_build.log"
    fi
  fi
fi

echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
