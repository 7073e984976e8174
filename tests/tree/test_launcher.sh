#!/usr/bin/env bash
# ctest: serial
# The launcher, with stand-ins for the programs it starts: its installs, refusals and messages, and that
# neither spaces, nor another folder, nor a second call at the same time disturb it. At the end, for real, that a call
# with nothing to do starts in under a second.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
source_dir=$2
build_dir=$3
count_failures

# A checkout in a folder with spaces, and a PATH with only the stand-ins.
root="$tmp/my check out"
mkdir -p "$root"/{cmake,reference,kernels,harness,labs,tests} "$tmp/bin"
cp "$source_dir/klab" "$root"
touch "$root"/{CMakeLists.txt,CMakePresets.json}
echo 'printf "run.sh"; printf " <%s>" "$@"; echo' >"$root/tests/run.sh"
echo 'echo "${FAKE_CHANGED:-}"' >"$root/tests/sanitized.sh"
for tool in bash env find readlink dirname mkdir rm mv cat awk nproc flock grep sleep touch cp; do
  ln -s "$(command -v $tool)" "$tmp/bin/$tool"
done
log=$tmp/log
stand_in() { printf '#!/usr/bin/env bash\n%s\n' "$2" >"$tmp/bin/$1"; chmod +x "$tmp/bin/$1"; }
stand_in id 'echo ${FAKE_UID:-0}'
stand_in dpkg-query 'p=${@: -1}; [[ -e $FAKE_DIR/installed_all || -e $FAKE_DIR/installed_$p ]] && printf installed || exit 1'
stand_in apt-cache '[[ $2 != "${FAKE_UNKNOWN:-}" ]]'
stand_in apt-get 'echo "apt-get $*" >>"$FAKE_DIR/log"; [[ $* == *install* ]] || exit 0
[[ -z ${FAKE_APT_FAILS:-} ]] || exit 100
for p in "$@"; do touch "$FAKE_DIR/installed_$p"; done'
stand_in cmake '[[ -z ${FAKE_CMAKE_FAILS:-} ]] || { echo "CMake Error: no such thing"; exit 1; }
all=$*; while [[ $# -gt 0 ]]; do [[ $1 == -B ]] && dir=$2; shift; done; touch "$dir/build.ninja"; echo "cmake $dir $all" >>"$FAKE_DIR/log"'
stand_in ninja 'if [[ $1 == -t ]]; then printf "%s.o\n" "${@:3}"; exit 0; fi
target=${@: -1}
[[ -z ${FAKE_NINJA_FAILS:-} && $target != "${FAKE_NINJA_FAILS_AT:-}" ]] || { echo "x.cpp:1: error: expected ;"; exit 1; }
[[ $target != "${FAKE_CTRL_C_AT:-}" ]] || { kill -INT $PPID; echo "ninja: build stopped: interrupted by user."; exit 2; }
mkdir "$PWD/busy" 2>/dev/null || { echo "two builds at once" >>"$FAKE_DIR/log"; exit 1; }
sleep ${FAKE_NINJA_SECONDS:-0}; rm -r "$PWD/busy"; echo "[1/1] compiled"; echo "ninja $*" >>"$FAKE_DIR/log"
for folder in . labs/05 labs/05/run labs/06/run labs/16/run train; do mkdir -p $folder; cp "$FAKE_DIR/bin/fake_program" $folder/klab; done'
# klab: prints its arguments. With --parts it is a program of the tour, and finishes the labs that it has.
stand_in fake_program 'printf "<%s>" "$@"
[[ $2 == --parts ]] || exit ${FAKE_EXIT:-0}
own=${0%/klab}; own=${own%/run}; own=${own##*/}
while read -r lab; do
  [[ $own == release || $lab == "$own"_* ]] && [[ ! -e $3/$lab.done ]] || continue
  echo "run $lab" >>"$FAKE_DIR/log"
  if [[ $lab == "${FAKE_STOPPED_IN:-}" ]]; then [[ $own == release ]] || kill -INT $PPID; exit 130; fi
  [[ $lab != "${FAKE_CRASH_IN:-}" ]] || exit 139
  [[ $lab != "${FAKE_WRONG:-}" ]] && echo right >"$3/$lab.done" || echo wrong >"$3/$lab.done"
done <"$3/labs"
! grep -q wrong "$3"/*.done'
ln -s "$(command -v chmod)" "$tmp/bin/chmod"
stand_in ctest 'printf "ctest"; printf " <%s>" "$@"; printf " in %s\n" "$PWD"'

code=0 out="" err=""
call() {  # [VAR=value...] -- arguments: runs the launcher, sets code, out and err
  local vars=()
  while [[ $1 != -- ]]; do vars+=("$1"); shift; done
  shift
  out=$(cd "$tmp" && env -i HOME="$tmp" PATH="$tmp/bin" FAKE_DIR="$tmp" "${vars[@]}" "$root/klab" "$@" 2>"$tmp/err" </dev/null)
  code=$?
  err=$(cat "$tmp/err")
}
fresh() { rm -rf "$root/build" "$tmp"/installed_* "$log"; : >"$log"; }
expect() { [[ $2 == *"$3"* ]] || fail "$1: '$3' is not in: $2"; }
expect_not() { [[ $2 != *"$3"* ]] || fail "$1: '$3' is in: $2"; }
expect_code() { [[ $code -eq $2 ]] || fail "$1: exit code $code, not $2 ($err)"; }

fresh  # a bare system, as root
call -- run "two words" '*'
expect_code "bare system" 0
expect "bare system" "$out" '<run><two words><*>'
expect_not "standard output is the program's alone" "$out" compiled
expect "says what it installs, and as whom" "$err" "installing missing packages with apt-get, as root: g++ cmake ninja-build"
expect "and the peers" "$err" " libopenblas-dev"
expect_not "no terminal: does not wait" "$err" "Ctrl-C"
expect "installs" "$(cat "$log")" "install --no-install-recommends g++"
expect "peers too" "$(cat "$log")" libopenblas-dev
expect "shows the build" "$err" "[1/1] compiled"
expect_not "no sudo for root" "$err" sudo

: >"$log"  # again
call FAKE_EXIT=1 -- check
expect_code "the program's exit code" 1
[[ -z $err ]] || fail "a call with nothing to do says: $err"
expect_not "installs again" "$(cat "$log")" apt-get
expect_not "configures again" "$(cat "$log")" cmake

sleep 0.05
touch "$root/kernels/new.cpp"  # something changed
call -- list
expect "a change is built visibly" "$err" compiled

fresh  # one lab is built alone, and run from its own folder
mkdir -p "$root/labs/05_matmul"; touch "$root/labs/05_matmul/lab.cpp"
call -- run 05 --quick
expect_code "one lab" 0
expect "the lab's program" "$out" '<run><05><--quick>'
expect "only the lab is built" "$(cat "$log")" " klab_05"
call -- run 05 06
expect_not "a lab that is not there" "$(tail -n 1 "$log")" klab_06
call -- list
expect "everything" "$(tail -n 1 "$log")" " klab"
sleep 0.05
: >"$log"
call -- step 05.02
expect_not "the whole program serves, too" "$(cat "$log")" klab_05

# The tour: lab by lab, each built before it is run.
fresh
for lab in 05_matmul 06_conv2d 16_hash_nerf; do
  mkdir -p "$root/labs/$lab"
  echo '#include "reference/x/x.h"' >"$root/labs/$lab/lab.cpp"
done
mkdir -p "$root/labs/16_hash_nerf/commands" "$root/labs/17_neural_image"
echo '// without operations' >"$root/labs/17_neural_image/lab.cpp"
steps() { grep -E '^(ninja|run)' "$log" | sed -E 's/^ninja .* (\S+)$/\1/; s/^run //' | tr '\n' ' '; }
parts="$root/build/release/tour"
call -- run --out 'a b.csv' --threads 1
expect_code "the tour" 0
[[ $(steps) == "klab_05_run 05_matmul klab_06_run 06_conv2d klab_16_run 16_hash_nerf " ]] || fail "steps of the tour: $(steps)"
expect "the tour's options" "$out" "<run><--parts><$parts><--out><a b.csv><--threads><1>"
expect "says how long" "$err" "the tour of 3 labs takes about"
expect "says how much there is to compile" "$err" "3 files to compile"
expect "says how to have less" "$err" "./klab run 03 is lab 03 alone"
expect "shows how far it is" "$err" "lab 06_conv2d, 2 of 3"
: >"$log"
call -- run
expect "after its end the tour begins again" "$(steps)" "05_matmul"
expect_not "after its end the tour begins again" "$err" "going on"

: >"$log"  # Ctrl-C while a lab runs
call FAKE_STOPPED_IN=06_conv2d -- run
expect_code "Ctrl-C in a lab" 130
expect_not "Ctrl-C in a lab" "$(steps)" 16_hash_nerf
: >"$log"
call FAKE_WRONG=06_conv2d -- run --out other.csv
expect_code "a lab that is wrong" 1
expect "goes on" "$err" "going on with the tour: 1 of its 3 labs are done"
expect "goes on after a lab that is wrong" "$(steps)" "06_conv2d klab_16_run 16_hash_nerf"
expect_not "runs a finished lab again" "$(steps)" 05_matmul

fresh  # Ctrl-C while it compiles
: >"$tmp/installed_all"
call FAKE_CTRL_C_AT=klab_06_run -- run
expect_code "Ctrl-C while it compiles" 130
expect "Ctrl-C while it compiles" "$err" "interrupted while building (lab 06_conv2d): ./klab run continues with this lab"
expect_not "Ctrl-C is no failure" "$err" "the build failed"
: >"$log"
call FAKE_NINJA_FAILS_AT=klab_16_run -- run
expect_code "a lab that does not compile" 2
expect "a lab that does not compile" "$err" "the build failed; the compiler's message is above (lab 16_hash_nerf)"
[[ $(steps) == "klab_06_run 06_conv2d " ]] || fail "steps after Ctrl-C: $(steps)"
: >"$log"
call FAKE_CRASH_IN=16_hash_nerf -- run
expect_code "a lab that crashes" 139
call -- run --threads 1
expect "other options" "$err" "had other options or another machine: starting it over"
call FAKE_STOPPED_IN=06_conv2d -- run
: >"$log"
call -- run --again
expect "from the start" "$(steps)" "05_matmul"
expect_not "--again is for the launcher" "$out" "--again"
call FAKE_STOPPED_IN=06_conv2d -- run
sleep 0.05
touch "$root/kernels/new.cpp"
: >"$log"
call -- run
expect "changed sources" "$err" "sources have changed since the tour was interrupted: starting it over"
expect "changed sources" "$(steps)" "05_matmul"

call -- list  # everything is built: one process runs what is left
call FAKE_STOPPED_IN=06_conv2d -- run
expect_code "Ctrl-C in one process" 130
: >"$log"
call -- run
expect "goes on in one process" "$err" "going on with the tour: 1 of its 3"
[[ $(steps) == "klab 06_conv2d 16_hash_nerf " ]] || fail "steps in one process: $(steps)"
rm -r "$root/build"
: >"$log"
call -- run 05
[[ $(steps) == "klab_05_run " ]] || fail "one lab of the tour: $(steps)"
call -- step 05
[[ $(steps) == "klab_05_run klab_05 " ]] || fail "a step of one lab: $(steps)"
call -- run 16
[[ $(steps) == "klab_05_run klab_05 klab_16 " ]] || fail "a lab with commands: $(steps)"
call -- run --help
expect "help is the program's" "$out" "<run><--help>"

fresh  # train is built alone where its options allow it
: >"$tmp/installed_all"
call -- train --steps 5
expect "train" "$out" "<train><--steps><5>"
expect "train alone" "$(steps)" "klab_train"
for option in --backend=simt --field --resume; do
  call -- train $option x
  [[ $(tail -n 1 "$log") == *" klab" ]] || fail "train $option is not the whole program's: $(tail -n 1 "$log")"
done

fresh
rm -r "$root"/labs/*
call KLAB_NO_INSTALL=1 -- list
expect_code "told not to install" 2
expect "says why" "$err" KLAB_NO_INSTALL
expect "the command to type" "$err" "sudo apt-get update && sudo apt-get install --no-install-recommends g++ cmake"
[[ -z $out ]] || fail "refusing prints on standard output: $out"
expect_not "installs though told not to" "$(cat "$log")" install

fresh
call FAKE_UID=1000 -- list
expect_code "no root, no sudo" 2
expect "no root, no sudo" "$err" "there is no sudo"

stand_in sudo '[[ -z ${FAKE_SUDO_ASKS:-} ]] || exit 1; [[ $1 == -n ]] && shift; echo "sudo $*" >>"$FAKE_DIR/log"; "$@"'
fresh
call FAKE_UID=1000 -- list
expect_code "sudo without a password" 0
expect "through sudo" "$(cat "$log")" "sudo env DEBIAN_FRONTEND=noninteractive apt-get"
expect "says so" "$err" "with apt-get, through sudo: g++"
fresh
call FAKE_UID=1000 FAKE_SUDO_ASKS=1 -- list
expect_code "sudo that asks, without a terminal" 2
expect "sudo that asks" "$err" "password"
fresh
: >"$tmp/installed_all"
call FAKE_UID=1000 FAKE_SUDO_ASKS=1 -- list
expect_code "nothing missing, so no sudo" 0
expect_not "nothing missing" "$(cat "$log")" sudo
rm "$tmp/bin/sudo"

# At a terminal: three seconds in which Ctrl-C stops it before anything is installed.
terminal() {  # [VAR=value...] -- arguments: like call, with a terminal as standard input and error
  local vars=()
  while [[ $1 != -- ]]; do vars+=("$1"); shift; done
  shift
  out=$(cd "$tmp" && script -qefc "$(printf '%q ' env -i HOME="$tmp" PATH="$tmp/bin" FAKE_DIR="$tmp" "${vars[@]}" "$root/klab" "$@")" /dev/null </dev/null)
  code=$?
  err=$out
}
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
  rm "$tmp/bin/sleep"
  stand_in sleep '[[ $1 != 3 ]] || { echo "sleep $1" >>"$FAKE_DIR/log"; [[ -z ${FAKE_CTRL_C:-} ]] || kill -INT 0; }'
  fresh
  terminal -- list
  expect_code "at a terminal" 0
  expect "says how to stop it" "$out" "Ctrl-C stops it"
  expect "waits before it installs" "$(head -n 1 "$log")" "sleep 3"
  expect "then installs" "$(cat "$log")" "install --no-install-recommends g++"
  : >"$log"
  terminal -- list
  expect_not "nothing missing: does not wait" "$(cat "$log")" "sleep 3"
  fresh
  terminal CI=true -- list
  expect_code "a build server with a terminal" 0
  expect_not "a build server with a terminal" "$(cat "$log")" "sleep 3"
  fresh
  terminal FAKE_CTRL_C=1 -- list
  [[ $code -ne 0 ]] || fail "Ctrl-C: exit code 0"
  expect_not "Ctrl-C: installs nothing" "$(cat "$log")" apt-get
  fresh
  terminal KLAB_NO_INSTALL=1 -- list
  expect_not "told not to install: does not wait" "$(cat "$log")" "sleep 3"
  rm "$tmp/bin/sleep"
  ln -s "$(command -v sleep)" "$tmp/bin/sleep"
fi

fresh  # a peer that this system has no package for
call FAKE_UNKNOWN=libdnnl-dev -- list
expect_code "a peer without a package" 0
expect "a peer without a package" "$err" "no package libdnnl-dev"
expect_not "a peer without a package" "$(grep install "$log")" libdnnl-dev

fresh  # only peers missing and not allowed to install: go on
eval "$(sed -n '/^required=(/,/^)/p' "$source_dir/klab")"
[[ ${#required[@]} -gt 10 ]] || fail "the launcher's list of packages was not found"
for p in "${required[@]}"; do : >"$tmp/installed_${p%%:*}"; done
call KLAB_NO_INSTALL=1 -- list
expect_code "peers missing" 0
expect "peers missing" "$err" "going on without"

fresh
call FAKE_APT_FAILS=1 -- list
expect_code "apt-get fails" 2
expect "apt-get fails" "$err" "could not install"

fresh
call FAKE_CMAKE_FAILS=1 -- list
expect_code "cmake fails" 2
expect "cmake's message" "$err" "CMake Error: no such thing"
call -- list
expect_code "and again, mended" 0

fresh
call FAKE_NINJA_FAILS=1 -- list
expect_code "the build fails" 2
expect "the compiler's message" "$err" "x.cpp:1: error: expected ;"
[[ -z $out ]] || fail "something ran after a failed build: $out"
call -- list
expect_code "mended" 0

fresh  # two at once
: >"$tmp/installed_all"
(cd "$tmp" && env -i PATH="$tmp/bin" FAKE_DIR="$tmp" FAKE_NINJA_SECONDS=0.5 "$root/klab" one >"$tmp/one" 2>&1) &
sleep 0.2
call FAKE_NINJA_SECONDS=0.1 -- two
wait
expect_code "second of two at once" 0
expect "second of two at once" "$err" "waiting for another klab"
expect "first of two at once" "$(cat "$tmp/one")" "<one>"
expect_not "two at once" "$(cat "$log")" "two builds at once"

fresh
: >"$tmp/installed_all"
call KLAB_BUILD_DIR=/proc/nowhere -- list
expect_code "nowhere to write" 2
expect "nowhere to write" "$err" "cannot write to /proc/nowhere"
expect "nowhere to write" "$err" KLAB_BUILD_DIR
call KLAB_BUILD_DIR=else\ where -- list
expect_code "a relative build folder" 0
[[ -x "$tmp/else where/release/klab" ]] || fail "KLAB_BUILD_DIR is not from the current folder"

call -- test -R 'a b'
expect "test" "$out" "<--output-on-failure>"
expect "test's arguments" "$out" "<-R> <a b>"
expect "test's folder" "$out" "in $root/build/release"

fresh  # the three ways to test
: >"$tmp/installed_all"
call FAKE_CHANGED="harness/core;op:matmul" -- test
expect "test" "$out" "run.sh <default> <$root> <$root/build>"
expect "the sanitized program is built" "$(cat "$log")" " test_sanitized"
expect "of what changed" "$(cat "$log")" "-DKLAB_SANITIZE=harness/core;op:matmul"
: >"$log"
call FAKE_CHANGED="harness/core;op:matmul" -- test
expect_not "nothing else changed: not configured again" "$(cat "$log")" "cmake "
call FAKE_CHANGED="op:matmul" -- test
expect "another change is configured" "$(cat "$log")" "-DKLAB_SANITIZE=op:matmul"
: >"$log"
call -- test --all
expect "all" "$out" "run.sh <all>"
expect "all of it is sanitized" "$(cat "$log")" "-DKLAB_SANITIZE=all"
call -- test --sanitized
expect "the sanitized half alone" "$out" "run.sh <sanitized>"
: >"$log"
call -- test --fast
expect "fast" "$out" "run.sh <fast>"
expect_not "fast does without sanitizers" "$(cat "$log")" "test_sanitized"
echo "another processor" >"$root/build/release/.configured"  # a build tree that was made elsewhere
: >"$log"
call -- list
expect "another processor" "$(cat "$log")" "-UKLAB_RUNS_"
stand_in df 'echo head; echo "dev 100 100 0 100% /"'
call FAKE_NINJA_FAILS=1 -- list
expect_code "a full disk" 2
expect "a full disk" "$err" "is full: free some gigabytes, or set KLAB_BUILD_DIR"
rm "$tmp/bin/df"

mv "$tmp/bin/dpkg-query" "$tmp/bin/cmake" "$tmp"  # not Debian, and nothing there
fresh
call -- list
expect_code "another system" 2
expect "names what CMake calls them" "$err" nlohmann_json
mv "$tmp/cmake" "$tmp/bin"
call -- list
expect_code "another system with cmake and ninja" 0

ln -s "$root/klab" "$tmp/link"
out=$(cd / && env -i PATH="$tmp/bin" FAKE_DIR="$tmp" "$tmp/link" linked 2>/dev/null)
expect "through a link" "$out" "<linked>"

# A build tree that came along with a copy of the checkout: it would build the original's sources.
fresh
call -- list
{ echo "CMAKE_HOME_DIRECTORY:INTERNAL=$root"; echo "CMAKE_CACHEFILE_DIR:INTERNAL=$root/build/release"; } >"$root/build/release/CMakeCache.txt"
: >"$log"
call -- list
expect_not "a tree of its own is kept" "$(cat "$log")" "cmake "
{ echo "CMAKE_HOME_DIRECTORY:INTERNAL=$tmp/original"; echo "CMAKE_CACHEFILE_DIR:INTERNAL=$tmp/original/build/release"; } >"$root/build/release/CMakeCache.txt"
call -- list
expect_code "copied checkout" 0
expect "says that the tree is another's" "$err" "was configured for $tmp/original"
expect "configures anew" "$(cat "$log")" "cmake $root/build/release"
# A foreign folder is refused, not emptied.
mkdir -p "$tmp/theirs/release"
{ echo "CMAKE_HOME_DIRECTORY:INTERNAL=$tmp/original"; echo "CMAKE_CACHEFILE_DIR:INTERNAL=$tmp/theirs/release"; } >"$tmp/theirs/release/CMakeCache.txt"
call KLAB_BUILD_DIR="$tmp/theirs" -- list
expect_code "another's build folder" 2
[[ -f $tmp/theirs/release/CMakeCache.txt ]] || fail "another's build folder was emptied"

if [[ $(basename "$build_dir") == release ]]; then  # for real
  export KLAB_BUILD_DIR=${build_dir%/release}
  (cd / && "$source_dir/klab" list >/dev/null 2>&1) || fail "klab list"
  best=999999
  for _ in 1 2 3; do
    begin=$(date +%s%N)
    (cd / && "$source_dir/klab" list >"$tmp/list" 2>"$tmp/err") || fail "klab list"
    took=$((($(date +%s%N) - begin) / 1000000))
    ((took < best)) && best=$took
  done
  [[ -s $tmp/err ]] && fail "an idle call says: $(cat "$tmp/err")"
  ((best < 1000)) || fail "a call with nothing to do takes $best ms"
  echo "a call with nothing to do: $best ms"
fi

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
