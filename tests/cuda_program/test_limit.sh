#!/usr/bin/env bash
# ctest: slow
# Past --limit a share of the blocks is watched: printed with the share, held in JSON, counts scaled. What the other blocks write counts
# as written, and errors in watched blocks are found.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
export NO_COLOR=1
count_failures
cd "$tmp"
cat >long.cu <<'CUDA'
#include <chrono>
#include <cstdio>
#include <cstring>
constexpr int kBlocks = 64, kThreads = 128, n = kBlocks * kThreads;
__global__ void fill(int* x, int round) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  x[i] = round + i;  // at fill
}
__global__ void next(const int* x, int* y) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  y[i] = x[(i + kThreads) % n];  // at next
}
int main(int count, char** argv) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const bool right = std::strcmp(argv[1], "right") == 0;
  int *x, *y, *out = new int[n], rounds = 0;
  cudaMalloc(&y, n * sizeof(int));
  while (seconds() < (count > 2 ? 3.5 : 1.5) || rounds < 20) {
    cudaMalloc(&x, n * sizeof(int));  // nothing of it is written yet
    if (right) fill<<<kBlocks, kThreads>>>(x, rounds);
    next<<<kBlocks, kThreads>>>(x, y);
    cudaMemcpy(out, y, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(x);
    for (int i = 0; right && i < n; ++i)
      if (out[i] != rounds + (i + kThreads) % n) return 3;
    ++rounds;
  }
  std::printf("rounds %d\n", rounds);
  cudaFree(y);
  delete[] out;
}
CUDA
"$build/klab-nvcc" long.cu -o long || exit 1
check() {  # what the report of a run of the right program says: file, rounds, thinned or whole
  python3 - "$@" <<'P' || fail "$3: $1 is not as it should be"
import json, sys
j, rounds, thinned = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3] == "thinned"
assert not [f for f in j["findings"] if f["kind"] != "leak"], j["findings"]
text = open("long.cu").read().splitlines()
stores = sum(l["lanes"] for l in j["lines"] if l["access"] == "store" and "// at fill" in text[l["line"] - 1])
assert abs(stores - rounds * 64 * 128) <= 0.01 * rounds * 64 * 128, (stores, rounds)
if thinned:
    assert 0.5 <= j["thinned_after"] < 60 and 0.09 < j["share_watched"] < 1, (j["thinned_after"], j["share_watched"])
else:
    assert j["thinned_after"] == 0 and j["share_watched"] == 1, j["share_watched"]
P
}
for run in "thinned --limit 0.5" "whole --blocks 100%"; do
  # shellcheck disable=SC2086
  "$klab" trace ./long ${run#* } --json -- right >report.json 2>words || fail "$run: exit code $?"
  check report.json "$(sed -n 's/^rounds //p' words)" "${run%% *}"
  if [[ $run == thinned* ]]; then
    grep -qF "klab: watched for" words || { cat words; fail "thinning is not printed"; }
  else
    grep -qF "klab: watched for" words && fail "a share that was given is changed"
  fi
done
"$klab" trace ./long --limit 0.5 -- right >text 2>&1 || { tail -n 20 text; fail "text: exit code $?"; }
grep -qF "counts scaled to all; errors in the other blocks alone were not found" text || { head -n 5 text; fail "the text holds no share"; }
"$klab" trace ./long --limit 0.5 -- wrong >text 2>&1
[[ $? -eq 1 ]] || { tail -n 20 text; fail "unwritten memory is not found"; }
grep -qF "long.cu:$(grep -n '// at next' long.cu | cut -d: -f1)" text || { tail -n 20 text; fail "unwritten memory: no line"; }
# So do blocks that a share which was given leaves unwatched.
"$klab" trace ./long --blocks 5% -- right >text 2>&1 || { tail -n 20 text; fail "--blocks 5%: exit code $?"; }
"$klab" trace ./long --blocks 5% --limit 9 -- right >text 2>&1
[[ $? -eq 2 ]] || { cat text; fail "--blocks and --limit together are taken"; }
# On a terminal the program says how far it is, also if its launches are many and short.
python3 - <<'P' || fail "no progress on a terminal"
import os, pty, subprocess
ours, theirs = pty.openpty()
program = subprocess.Popen(["./long", "right", "longer"], stdout=subprocess.DEVNULL, stderr=theirs,
                           env={**os.environ, "TERM": "xterm", "KLAB_PROGRAM_REPORT": "report"})
os.close(theirs)
text = b""
try:
    while part := os.read(ours, 4096):
        text += part
except OSError:  # the other end is closed
    pass
assert program.wait() == 0 and b"klab: launch " in text and b", block " in text, text[-200:]
P
[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
