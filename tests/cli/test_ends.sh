#!/usr/bin/env bash
# An end is a verdict: whatever ends a check's process or keeps it from ending is a failure of the variant that was called, with exit
# code 1, in every form of the command; the other variants are not accused. The kernel that does it is a baseline's library call,
# replaced by another one.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
export NO_COLOR=1 OMP_WAIT_POLICY=passive
failed=0
fail() { echo "FAILED: $*"; failed=1; }

ldd "$klab" >"$tmp/libraries"
grep -q libopenblas "$tmp/libraries" || { echo "no OpenBLAS: no variant whose call can be replaced"; exit 77; }
cat >"$tmp/ends.c" <<'CODE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
// Another process sends the signal, once: the second process of the check finds the file.
static void is_sent(int signal) {
  if (open(getenv("KLAB_TEST_SENT"), O_CREAT | O_EXCL | O_WRONLY, 0600) < 0) return;
  const pid_t sender = fork();
  if (sender == 0) {
    kill(getppid(), signal);
    _exit(0);
  }
  waitpid(sender, 0, 0);
}
static void* outlives(void* nothing) {
  sleep(600);
  return nothing;
}
typedef void Product(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                 float* c, int ldc) {
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
  if (strcmp(how, "sent_TERM") == 0) is_sent(SIGTERM);
  if (strcmp(how, "sent_SEGV") == 0) is_sent(SIGSEGV);
  if (strncmp(how, "sent_", 5) == 0) ((Product*)dlsym(RTLD_NEXT, "cblas_sgemm"))(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
CODE
cc -shared -fPIC -o "$tmp/ends.so" "$tmp/ends.c" -lpthread -ldl || fail "the test's own code does not compile"

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
# A signal that another process sends is no kernel's fault: the variant is checked again, and passes.
for name in TERM SEGV; do
  rm -f "$tmp/sent"
  KLAB_TEST_SENT=$tmp/sent KLAB_TEST_END=sent_$name LD_PRELOAD=$tmp/ends.so \
    "$klab" check matmul.cpu.01_naive matmul.cpu.90_openblas --shape 3,5,7 >"$tmp/out" 2>"$tmp/err"
  code=$?
  [[ -e $tmp/sent ]] || fail "SIG$name was not sent"
  [[ $code -eq 0 ]] && grep -q "2 ok" "$tmp/out" || { cat "$tmp/out" "$tmp/err"; fail "SIG$name from another process is held against a kernel"; }
done
grep -q "SIGSEGV from process [0-9]* while checking matmul.cpu.90_openblas" "$tmp/err" || { cat "$tmp/err"; fail "the sender is not named"; }

"$klab" check vector_add.cpu.01_scalar --limit 0 >/dev/null 2>"$tmp/err"; [[ $? -eq 2 ]] || fail "a limit of 0 is taken"
grep -q -- "--limit" "$tmp/err" || fail "a limit of 0 is not named"
exit $failed
