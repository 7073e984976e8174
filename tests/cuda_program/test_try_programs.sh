#!/usr/bin/env bash
# ctest: slow
# try_programs.py writes a row for a right program of two files, one with a finding, one that never ends, and one that does not compile.
# A second call tries none of them. The folders stay as they were, and no process is left.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
count_failures
cd "$tmp" || exit 2
export TMPDIR=$tmp
mkdir -p programs/right programs/several programs/broken
cat >programs/right/main.cu <<'E'
#include <cstdio>
#include <cstdlib>
#include "scale.h"
int scaled(int);
__global__ void k(int* y) { y[threadIdx.x] = SCALE * threadIdx.x; }
int main(int argc, char** argv) {
  int h[32], *y;
  cudaMalloc(&y, sizeof h);
  k<<<1, 32>>>(y);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(y);
  std::FILE* out = std::fopen("result.txt", "w");
  std::fprintf(out, "%d\n", h[31]);
  std::fclose(out);
  return argc == 3 && std::atoi(argv[2]) == 7 && h[31] == scaled(31) ? 0 : 5;
}
E
printf '#include "scale.h"\nint scaled(int x) { return SCALE * x; }\n' >programs/right/host.cpp
mkdir programs/right/headers
echo '#define SCALE (FACTOR + 1)' >programs/right/headers/scale.h
printf 'CFLAGS = -Iheaders -DFACTOR=2 -O3\nprogram = main\nrun: $(program)\n\t./$(program) first 7\n' >programs/right/Makefile
cat >programs/several/finds.cu <<'E'
__global__ void k(int* y) { y[threadIdx.x + 1] = 3; }
int main() {
  int* y;
  cudaMalloc(&y, 128);
  k<<<1, 32>>>(y);
  cudaDeviceSynchronize();
  cudaFree(y);
}
E
cat >programs/several/endless.cu <<'E'
#include <unistd.h>
__global__ void k() {}
int main() {
  k<<<1, 1>>>();
  cudaDeviceSynchronize();
  if (fork() == 0) setsid();
  for (;;) sleep(1);
}
E
echo '__global__ void k(int* y) { y[0] = not_declared; } int main() { k<<<1, 1>>>(nullptr); }' >programs/broken/main.cu
find programs -type f -exec md5sum {} + | sort >before

try() { python3 -B "$root/tests/cuda_program/try_programs.py" table.csv programs --klab-nvcc "$build/klab-nvcc" --seconds 10 "$@" >said 2>&1; }
try || { cat said; fail "exit code"; }
find programs -type f -exec md5sum {} + | sort >after
cmp before after || fail "the folders have changed"
python3 - <<'E' || { cat said table.csv; fail "the table"; }
import csv
rows = {r["program"]: r for r in csv.DictReader(open("table.csv"))}
assert set(rows) == {"programs/right", "programs/several/finds.cu", "programs/several/endless.cu", "programs/broken"}, set(rows)
right, finds, endless, broken = (rows["programs/" + n] for n in ("right", "several/finds.cu", "several/endless.cu", "broken"))
assert right["klab_nvcc"] == "yes" and right["unwatched"] == right["watched"] == "0" and right["findings"] == "0", right
assert right["share"] == "1", right
assert finds["watched"] == "1" and finds["findings"] == "1" and finds["places"] == "out of bounds finds.cu:1", finds
assert endless["unwatched"] == endless["watched"] == "10 s" and endless["share"] == "0.05", endless
assert "ended by the limit: 10 s" in endless["sentence"], endless
assert broken["klab_nvcc"] == "no" and "not_declared" in broken["sentence"] and broken["watched"] == "", broken
E
grep -q "4 tried; 4 programs: 3 compiled, 2 ended watched" said || { cat said; fail "the summary"; }
pgrep -f "$tmp.*watched" >/dev/null && fail "something runs on"

# A second call goes on where the first stopped; a row that was cut off is tried again.
cp table.csv whole.csv
try && grep -q "^0 tried" said || { cat said; fail "tries known programs again"; }
head -c -20 whole.csv >table.csv
try && grep -q "^1 tried" said || { cat said; fail "does not go on behind a row that was cut off"; }

try --klab-nvcc /not/there; [[ $? -eq 2 ]] || fail "takes a compiler that is not there"
grep -q "klab-nvcc /not/there" said || { cat said; fail "does not name the compiler"; }

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
