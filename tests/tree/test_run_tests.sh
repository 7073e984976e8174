#!/usr/bin/env bash
# tests/run.sh and tests/sanitized.sh in a small checkout, with a stand-in for ctest: a passed test is not run again until
# something that it depends on changes, failures and skips are counted, --all forgets and moves the sanitized commit, --fast
# follows includes, and each of them reports in one line what it cannot know.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
source_dir=$2
count_failures
expect() { [[ $2 == *"$3"* ]] || fail "$1: '$3' is not in: $2"; }
expect_not() { [[ $2 != *"$3"* ]] || fail "$1: '$3' is in: $2"; }

root=$tmp/checkout
builds=$root/build
mkdir -p "$root"/{tests/core,tests/tree,tests/records,harness/core,harness/records,kernels/one/cpu,kernels/two/cpu,kernels/common,reference/one,reference/two,labs/radiance/scene} "$builds"/{release/tests,asan} "$tmp/bin"
cp "$source_dir"/tests/{run,sanitized}.sh "$root/tests"
cd "$root"
echo '#include "harness/core/a.h"' >tests/core/test_a.cpp
echo 'TEST(A, Works) {}' >>tests/core/test_a.cpp
printf '#include "harness/records/b.h"\nTEST(B, Works) {}\n' >tests/records/test_b.cpp
echo 'echo "me"' >tests/core/test_me.sh
echo '// a' >harness/core/a.h
echo '// b' >harness/records/b.h
echo 'int b;' >harness/records/b.cpp
printf '#include "kernels/common/shared.h"\n' >kernels/one/cpu/01_a.cpp
printf 'int two;\n' >kernels/two/cpu/01_a.cpp
echo '// s' >kernels/common/shared.h
for op in one two; do echo "// $op" >reference/$op/$op.h; done
echo '// scene' >labs/radiance/scene/scene.h
echo build >.gitignore
printf '#!/bin/sh\n' >"$builds/release/klab"
for room in core records tree; do printf '#!/bin/sh\n' >"$builds/release/tests/test_$room"; done
printf 'klab built from commit 012 clean\0\0end\n' >>"$builds/release/tests/test_records"
chmod +x "$builds/release/klab" "$builds"/release/tests/*
git init -q -b main . && git config user.email a@b && git config user.name a
git add -A && git commit -qm first
git rev-parse HEAD >tests/sanitized_commit
git add -A && git commit -qm second

cat >"$tmp/bin/ctest" <<'CTEST'
#!/usr/bin/env bash
# Lists its tests, or runs those whose places are in the file behind -I. As of the real one: a filter leaves the listed numbers as
# they are, and -I counts what is left.
names=(core.A.Works tree.Long records.B.Works tree.Rule test_me)
[[ $PWD == */asan ]] && names=(core.A.Works)
left=()
for i in "${!names[@]}"; do [[ " $* " == *" -LE "* && ${names[i]} == tree.Long ]] || left+=("$i"); done
for ((i = 1; i <= $#; ++i)); do [[ ${!i} != -I ]] || { j=$((i + 1)); file=${!j}; }; done
if [[ " $* " == *" -N "* ]]; then
  [[ " $* " == *" -L "* ]] && exit 0
  for i in "${left[@]}"; do
    command="$PWD/tests/test_${names[i]%%.*} \"--gtest_filter=${names[i]#*.}\""
    [[ ${names[i]} != test_* ]] || command="/usr/bin/bash \"$CHECKOUT/tests/core/${names[i]}.sh\" \"$PWD/klab\""
    [[ " $* " != *" -V "* ]] || echo "$((i + 1)): Test command: $command"
    echo "  Test #$((i + 1)): ${names[i]}"
  done
  exit 0
fi
code=0
for place in $(tr , ' ' <"$file" | cut -d' ' -f4-); do
  [[ $place -le ${#left[@]} ]] || continue
  i=${left[place - 1]}
  [[ ${names[i]} != "${FAKE_VANISHES:-}" ]] || continue
  echo "ran ${PWD##*/} ${names[i]}" >>"$FAKE/ran"
  if [[ ${names[i]} == "${FAKE_FAILS:-}" ]]; then echo "1/3 Test #$((i + 1)): ${names[i]} ......***Failed    0.01 sec"; seq -f "said in line %g" 60; code=8
  elif [[ ${names[i]} == "${FAKE_SKIPS:-}" ]]; then echo "1/3 Test #$((i + 1)): ${names[i]} ......***Skipped    0.01 sec"
  else echo "1/3 Test #$((i + 1)): ${names[i]} ......   Passed    0.01 sec"; fi
done
exit $code
CTEST
chmod +x "$tmp/bin/ctest"
code=0 out="" ran=""
call() {  # [VAR=value...] -- mode: runs run.sh, sets code, out, ran
  local vars=()
  while [[ $1 != -- ]]; do vars+=("$1"); shift; done
  shift
  : >"$tmp/ran"
  out=$(env PATH="$tmp/bin:$PATH" XDG_CACHE_HOME="$tmp/cache" FAKE="$tmp" CHECKOUT="$root" "${vars[@]}" bash "$root/tests/run.sh" "$1" "$root" "$builds" 2>&1)
  code=$?
  ran=$(cat "$tmp/ran")
}

call FAKE_FAILS=records.B.Works FAKE_SKIPS=tree.Rule -- default
[[ $code -eq 1 ]] || fail "a failed test: exit code $code"
expect "counts" "$out" "2 passed, 1 failed, 1 skipped"
after=${out#*What the failed tests said:}
expect "which test failed is said at the end" "$after" "== records.B.Works (release), the last 40 lines:"
expect "and how its output ends" "$after" "said in line 60"
expect_not "but not the whole of it" "$after" "said in line 20"
expect_not "nor what the next test said" "$after" tree.Rule
call -- default
[[ $code -eq 0 ]] || fail "mended: exit code $code ($out)"
expect_not "what passed is not run again" "$ran" core.A.Works
expect_not "nothing failed" "$out" "failed tests said"
expect "it is listed" "$out" "passed before: core (1)"
expect "what failed is run again" "$ran" "records.B.Works"
expect "what was skipped is run again" "$ran" "tree.Rule"
call -- default
[[ -z $ran ]] || fail "nothing changed, and run again: $ran"
expect "all are listed" "$out" "passed before: 4"
echo "more" >>README.md
call -- default
expect "a page changes what reads the tree" "$ran" tree.Rule
expect "and a script that may read it" "$ran" test_me
expect_not "a page changes no program" "$ran" core.A.Works
echo 'echo "you"' >>tests/core/test_me.sh
call -- default
expect "a script that changed" "$ran" test_me
expect_not "is read by no other test" "$ran" core.A.Works
echo 'TEST(A, WorksAlways) {}' >>tests/core/test_a.cpp
echo "# other" >>"$builds/release/tests/test_core"
call -- default
expect "a test program that changed" "$ran" core.A.Works
expect "what reads all tests" "$ran" tree.Rule
expect_not "another program's tests" "$ran" records.B.Works
expect_not "scripts" "$ran" test_me
sed -i 's/commit 012 clean/commit 345 changed/; s/\x00\x00//' "$builds/release/tests/test_records"
call -- default
[[ -z $ran ]] || fail "the commit that a program names: $ran"
echo "# other" >>"$builds/release/klab"
call -- default
expect "another program" "$ran" core.A.Works
call KLAB_LAST_LEVEL_CACHE=2MB -- default
expect "another machine" "$ran" core.A.Works
call -- all
expect "--all forgets" "$ran" core.A.Works
expect "and runs long tests" "$ran" tree.Long
call FAKE_VANISHES=records.B.Works -- all
[[ $code -eq 1 ]] || fail "a test that was not run: exit code $code"
expect "a test that was not run is missed" "$out" "4 of 5 tests of $builds/release ended"

# The sanitizer build: only where it was made, and in the sum.
call -- sanitized
[[ $code -eq 2 && $(wc -l <<<"$out") -eq 1 ]] || fail "no sanitized build: exit code $code, $out"
expect "no sanitized build" "$out" "./klab test --sanitized makes it"
: >"$builds/asan/build.ninja"
call -- default
expect "sanitized" "$ran" "ran asan core.A.Works"
call -- all
expect "--all with changes" "$out" "not committed: tests/sanitized_commit stays"
git add -A && git commit -qm third
call FAKE_FAILS=core.A.Works -- all
[[ $(<tests/sanitized_commit) != "$(git rev-parse HEAD)" ]] || fail "--all moves the commit though a sanitized test failed: $out"
call FAKE_FAILS=records.B.Works -- all
[[ $code -eq 1 ]] || fail "--all with a failed test: exit code $code"
[[ $(<tests/sanitized_commit) == "$(git rev-parse HEAD)" ]] || fail "a test that is not sanitized holds the commit back: $out"
git checkout -q tests/sanitized_commit
call -- sanitized
[[ $(sort -u <<<"$ran") == "ran asan core.A.Works" ]] || fail "the sanitized half alone runs '$ran'"
[[ $(<tests/sanitized_commit) == "$(git rev-parse HEAD)" ]] || fail "the sanitized half on a clean checkout does not move the commit: $out"
git checkout -q tests/sanitized_commit
call -- all
[[ $(<tests/sanitized_commit) == "$(git rev-parse HEAD)" ]] || fail "--all on a clean checkout does not move the commit: $out"
git add -A && git commit -qm fourth

# Tests that have to be sanitized again.
[[ -z $(bash tests/sanitized.sh .) ]] || fail "nothing changed, and to be sanitized: $(bash tests/sanitized.sh .)"
echo "// more" >>kernels/common/shared.h
[[ $(bash tests/sanitized.sh .) == "op:one" ]] || fail "a header of op one: $(bash tests/sanitized.sh .)"
echo "// more" >>harness/records/b.cpp
echo "// more" >>labs/radiance/scene/scene.h
echo "// new" >reference/two/more.cpp
[[ $(bash tests/sanitized.sh .) == "harness/records;labs/radiance/scene;op:one;op:two" ]] || fail "rooms and ops: $(bash tests/sanitized.sh .)"
git checkout -q . && git clean -qfd
# Headers of a contract, a rung and a room, a header that only another header includes, and a removed file.
chosen_by() {  # choice file: compares what a line added to the file chooses
  local what=$1 file=$2 chosen
  echo "// more" >>"$file"
  chosen=$(bash tests/sanitized.sh .)
  git checkout -q .
  [[ $chosen == "$what" ]] || fail "$file: '$chosen', not '$what'"
}
printf '#include "kernels/common/family/inner.h"\n' >>kernels/common/shared.h
mkdir kernels/common/family && echo '// i' >kernels/common/family/inner.h
echo '#include "reference/one/one.h"' >>kernels/two/cpu/01_a.cpp
echo '// own' >kernels/two/cpu/01_a-inl.h
git add -A && git commit -qm fifth && git rev-parse HEAD >tests/sanitized_commit && git add -A && git commit -qm sixth
chosen_by "op:one" kernels/common/family/inner.h
chosen_by "op:one;op:two" reference/one/one.h
chosen_by "op:two" kernels/two/cpu/01_a-inl.h
chosen_by "harness/core" harness/core/a.h
chosen_by "" tests/core/test_a.cpp
rm kernels/two/cpu/01_a-inl.h
[[ $(bash tests/sanitized.sh .) == "op:two" ]] || fail "a removed file: $(bash tests/sanitized.sh .)"
git checkout -q .
echo "0123456789012345678901234567890123456789" >tests/sanitized_commit
[[ $(bash tests/sanitized.sh . 2>"$tmp/err") == all ]] || fail "an unknown commit does not sanitize everything"
expect "an unknown commit" "$(cat "$tmp/err")" "is not in this checkout"
[[ $(wc -l <"$tmp/err") -eq 1 ]] || fail "more than one line: $(cat "$tmp/err")"
git checkout -q . && git clean -qfd

# --fast: the tests nearest to the change.
echo "int c;" >>harness/records/b.cpp
call -- fast
expect "the change's own test" "$ran" records.B.Works
expect_not "another room's test" "$ran" core.A.Works
git checkout -q .
printf '#!/bin/sh\necho "checked $*" >>"$FAKE/ran"\n' >"$builds/release/klab"
echo "int d;" >>kernels/two/cpu/01_a.cpp
call -- fast
expect "a changed op is checked" "$ran" "checked check --remember two"
git checkout -q .
git branch -m main trunk
call -- fast
expect "no main branch" "$out" "no main branch was found"
git branch -m trunk main

mv .git "$tmp/git"  # a tarball
[[ $(bash tests/sanitized.sh . 2>"$tmp/err") == all ]] || fail "without git not everything is sanitized"
expect "without git" "$(cat "$tmp/err")" "no git checkout"
call -- fast
expect "without git, fast" "$out" "no git checkout"
call -- default
[[ $code -eq 0 ]] || fail "without git: exit code $code"
mv "$tmp/git" .git

# Two at once: the second waits, and says so.
exec 7>>"$builds/.testing"
flock 7
(call -- default; printf '%s' "$out" >"$tmp/second") &
sleep 0.5
flock -u 7
wait
expect "two at once" "$(cat "$tmp/second")" "waiting for another klab test"

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
