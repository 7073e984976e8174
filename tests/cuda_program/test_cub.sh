#!/usr/bin/env bash
# ctest: slow
# CUB of an installed toolkit: primitives of blocks and warps, and algorithms of a whole device, run without a finding, counted at the
# program's own lines. Without a toolkit the program is refused with file and line.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
[[ -x $build/klab-nvcc ]] || { echo "this build has no host executor"; exit 77; }
export NO_COLOR=1
count_failures
cd "$tmp"
if ! compgen -G "/usr/local/cuda/include/cccl/cub/version.cuh" >/dev/null; then
  code=0
  "$klab" trace "$root/tests/programs/cub_blocks.cu" >out 2>&1 || code=$?
  [[ $code -eq 2 ]] || fail "without a toolkit: exit code $code, not 2"
  grep -qF "cub_blocks.cu:2: cub/block/block_discontinuity.cuh: CUB, where no toolkit" out || { cat out; fail "no line and header"; }
else
  for program in cub_blocks cub_device; do
    "$klab" trace "$root/tests/programs/$program.cu" >out 2>&1 || { tail -n 25 out; fail "$program: exit code $?"; }
    grep -qF "$program passed" out || { tail -n 25 out; fail "$program does not say that it passed"; }
    grep -E "FINDING|  note" out && fail "$program has findings"
    if [[ $program == cub_blocks ]]; then
      grep -qE "^ *[0-9]+  shared .* Load\(storage.load\)" out || fail "what CUB does is not counted where the program calls it"
    fi
  done
  # Blocks of a scan and of a selection wait for earlier ones, by words that hold a status and a sum, and end without a finding.
  cat >scan.cu <<'P'
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <cstdio>
struct Odd {
  __device__ bool operator()(int x) const { return x % 2 == 1; }
};
int main() {
  const int n = 50000;
  int *x, *sums, sum = 0, wrong = 0;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&sums, n * sizeof(int));
  for (int k = 0; k < n; ++k) x[k] = k % 7;
  size_t bytes = 0;
  void* storage = nullptr;
  cub::DeviceScan::InclusiveSum(storage, bytes, x, sums, n);
  cudaMalloc(&storage, bytes);
  cub::DeviceScan::InclusiveSum(storage, bytes, x, sums, n);
  cudaDeviceSynchronize();
  for (int k = 0; k < n; ++k) wrong += sums[k] != (sum += x[k]);
  cudaFree(storage);
  int *many, count = 0;
  cudaMallocManaged(&many, sizeof(int));
  storage = nullptr;
  cub::DeviceSelect::If(storage, bytes, x, sums, many, n, Odd());
  cudaMalloc(&storage, bytes);
  cub::DeviceSelect::If(storage, bytes, x, sums, many, n, Odd());
  cudaDeviceSynchronize();
  for (int k = 0; k < n; ++k) wrong += x[k] % 2 == 1 && (count >= *many || sums[count++] != x[k]);
  std::printf("%d wrong\n", wrong + (count != *many));
  cudaFree(x), cudaFree(sums), cudaFree(storage), cudaFree(many);
}
P
  code=0
  "$build/klab-nvcc" scan.cu -o scan && ./scan >out 2>&1 || code=$?
  grep -qx "0 wrong" out && [[ $code -eq 0 ]] || { tail -n 5 out; fail "a scan and a selection over many blocks: exit code $code"; }
  grep "^klab:" out && fail "a scan or a selection has findings"
  # Errors are found in CUB, too: one storage used twice with nothing between.
  cat >reuse.cu <<'P'
#include <cub/block/block_reduce.cuh>
__global__ void twice(int* x) {
  using Reduce = cub::BlockReduce<int, 128, cub::BLOCK_REDUCE_RAKING>;
  __shared__ typename Reduce::TempStorage storage;
  const int mine = x[threadIdx.x];
  const int sum = Reduce(storage).Sum(mine);
  const int squares = Reduce(storage).Sum(mine * mine);
  if (threadIdx.x == 0) x[0] = sum + squares;
}
int main() {
  int* x; cudaMalloc(&x, 512); cudaMemset(x, 0, 512);
  twice<<<1, 128>>>(x);
  cudaFree(x);
}
P
  code=0
  "$klab" trace reuse.cu >out 2>&1 || code=$?
  [[ $code -eq 1 ]] || { tail -n 25 out; fail "reuse: exit code $code, not 1"; }
  grep -qE "race on shared memory in kernel twice.*reuse.cu:[67]:.* line [67] " out || { grep FINDING out; fail "reuse: no race of lines 6 and 7"; }
fi
[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
