#!/usr/bin/env bash
# An end is a verdict: whatever ends a check's process or keeps it from ending is a failure of the variant that was called, with exit
# code 1, in every form of the command; the other variants are not accused. The kernel that does it is a baseline's library call,
# replaced by another one.
set -uo pipefail
klab=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export NO_COLOR=1 OMP_WAIT_POLICY=passive
failed=0
fail() { echo "FAILED: $*"; failed=1; }

ldd "$klab" >"$tmp/libraries"
grep -q libopenblas "$tmp/libraries" || { echo "no OpenBLAS: no variant whose call can be replaced"; exit 77; }
cat >"$tmp/ends.c" <<'CODE'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void* outlives(void* nothing) {
  sleep(600);
  return nothing;
}
void cblas_sgemm(void) {
  const char* how = getenv("KLAB_TEST_END");
  pthread_t thread;
  if (strcmp(how, "exit") == 0) exit(0);
  if (strcmp(how, "_exit") == 0) _exit(0);
  if (strcmp(how, "exit_from_a_thread") == 0 && pthread_create(&thread, 0, (void* (*)(void*))exit, 0) == 0) pause();
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(how, "loop") == 0)
    for (volatile int turn = 0;; ++turn) continue;
  if (strcmp(how, "wait") == 0) pause();
  if (strcmp(how, "thread") == 0) pthread_create(&thread, 0, outlives, 0);
  if (strcmp(how, "prints") == 0) puts("{\"variants\": []}");
}
CODE
cc -shared -fPIC -o "$tmp/ends.so" "$tmp/ends.c" -lpthread || fail "the test's own code does not compile"

# ends HOW FAULT [ARGUMENT...]: the check fails by that name, and 01_naive passes.
ends() {
  local how=$1 fault=$2; shift 2
  KLAB_TEST_END=$how LD_PRELOAD=$tmp/ends.so "$klab" check matmul.cpu.01_naive matmul.cpu.90_openblas --shape 3,5,7 --limit 3 "$@" \
    >"$tmp/out" 2>"$tmp/err"
  local code=$?
  [[ $code -eq 1 ]] || fail "$how $*: exit code $code"
  grep -q "$fault" "$tmp/out" || { cat "$tmp/out" "$tmp/err"; fail "$how $*: not called '$fault'"; }
  if [[ " $* " == *" --json "* ]]; then
    grep -q '"ok": 1,' "$tmp/out" && grep -q '"failed": 1,' "$tmp/out" || { cat "$tmp/out"; fail "$how $*: not one of each"; }
  else
    grep -qE "01_naive +ok" "$tmp/out" || { cat "$tmp/out"; fail "$how $*: another variant is accused"; }
  fi
}
for form in "" --quick --apart --json; do ends _exit "ends the process" $form; done
ends exit "ends the process"
ends exit_from_a_thread "ends the process"
ends abort "crash"
ends kill "crash"
ends loop "does not end"
grep -q "stopped after 3 s in one call" "$tmp/out" || { cat "$tmp/out"; fail "the limit is not named"; }
ends wait "does not end" --json
ends thread "works after it has returned"
ends prints "never written\|wrong value\|not finite"  # it writes no result, and what it prints is no answer
grep -q "m=3 n=5 k=7" "$tmp/out" || fail "the inputs are not named"
"$klab" check vector_add.cpu.01_scalar --limit 0 >/dev/null 2>"$tmp/err"; [[ $? -eq 2 ]] || fail "a limit of 0 is taken"
grep -q -- "--limit" "$tmp/err" || fail "a limit of 0 is not named"
exit $failed
