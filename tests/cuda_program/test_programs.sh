#!/usr/bin/env bash
# ctest: slow
# CUDA programs with their own main: sixteen run to their own check without a finding; errors in others are found, named
# with file and line, and end the program; a CMake project and a makefile build with klab-nvcc as with nvcc, and their tests pass.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
nvcc=$build/klab-nvcc
[[ -x $nvcc ]] || { echo "this build has no host executor"; exit 77; }
export NO_COLOR=1
count_failures
has() { grep -qF -e "$2" "$1" || { tail -n 25 "$1"; fail "$3: no '$2'"; }; }
code() {  # wanted, what, command...
  local want=$1 what=$2 got=0; shift 2
  "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
  cat "$tmp/err" >>"$tmp/out"
  [[ $got -eq $want ]] || { tail -n 25 "$tmp/out"; fail "$what: exit code $got, not $want"; }
}
cd "$tmp"

for program in vector_add reduction transpose scan histogram merge_sort matrix_product stencil streams grid_sync instructions small_elements device_heap graph_updates graph_memory hopper; do
  code 0 $program "$klab" trace "$root/tests/programs/$program.cu"
  has out "$program passed" $program
  grep -q "FINDING" out && { grep FINDING out; fail "$program has findings"; }
  grep -q "  note" out && { grep "  note" out; fail "$program leaves memory behind"; }
done

# Thrust needs the headers of a toolkit: with them it runs, without it is named.
if compgen -G "/usr/local/cuda/include/cccl/thrust/version.h" >/dev/null || [[ -e /usr/local/cuda/include/thrust/version.h ]]; then
  code 0 thrust "$klab" trace "$root/tests/programs/thrust.cu"
  has out "thrust passed" thrust
  grep -q "FINDING" out && { grep FINDING out; fail "thrust has findings"; }
else
  code 2 thrust "$klab" trace "$root/tests/programs/thrust.cu"
  has out "libcu++, where no toolkit with its headers is installed" thrust
fi

# Counts match the access patterns: for the transposes, stores of 32 sectors or 4, conflicts of 31 or none.
"$nvcc" "$root/tests/programs/transpose.cu" -o transpose || fail "transpose.cu cannot be compiled"
code 0 counts "$klab" trace ./transpose --json -- 128 64
python3 - <<'P' || fail "counts of the transposes"
import json
text = open("out").read()
j = json.loads(text[text.index("{"):text.rindex("}") + 1])
assert j["exit_code"] == 0 and j["launched"] == 4 and not j["findings"], j["findings"]
stores = sorted(l["sectors"] / l["requests"] for l in j["lines"] if l["access"] == "store")
assert stores == [4, 4, 32], stores
loads = sorted(l["bank_conflicts"] / l["requests"] for l in j["lines"] if l["access"] == "shared load")
assert loads == [15.5], loads
assert {l["kernel"] for l in j["launches"]} == {"copied", "naive", "tiled<0>", "tiled<1>"}
assert all(l["static_shared"] == (4096 if "<0>" in l["kernel"] else 4224 if "<1>" in l["kernel"] else 0) for l in j["launches"])
P
code 0 page "$klab" trace "$root/tests/programs/scan.cu" --html page.html
for word in "<!DOCTYPE html>" "scan_blocks" "sectors/request"; do has page.html "$word" page; done
code 0 share "$klab" trace ./transpose --blocks 25% -- 256 256
has out "25% of the blocks of each grid watched, counts scaled to all" share

# Errors are found and named: parts of one program, compiled once.
wrongs='#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
__global__ void fill(int* x, int n) { int k = blockIdx.x * blockDim.x + threadIdx.x; if (k < n) x[k] = k; }  // at fill
int bounds() {
  int* x; cudaMalloc(&x, 40);  // at ten
  fill<<<1, 32>>>(x, 32);
  if (std::getenv("GOES_ON") != nullptr) {
    int h[10];
    if (cudaMemcpy(h, x, 40, cudaMemcpyDeviceToHost) != cudaSuccess || h[9] != 9) return 5;
    return cudaFree(x) == cudaSuccess ? 0 : 4; }
  if (cudaDeviceSynchronize() != cudaErrorIllegalAddress) return 5;
  if (cudaMemcpy(x, x, 4, cudaMemcpyDeviceToDevice) != cudaErrorIllegalAddress) return 6;
  return 0; }
__global__ void sum(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x] + 1; }  // at sum
int unwritten() { int *x, *y; cudaMalloc(&x, 128); cudaMalloc(&y, 128); sum<<<1, 32>>>(x, y); cudaDeviceSynchronize(); return 0; }
__global__ void shift(int* y) { __shared__ int s[64]; s[threadIdx.x] = threadIdx.x; y[threadIdx.x] = s[63 - threadIdx.x]; }  // at shift
int race() { int* y; cudaMalloc(&y, 256); shift<<<1, 64>>>(y); cudaFree(y); return 0; }
__global__ void half(int* y) { if (threadIdx.x < 16) return; __syncthreads(); y[threadIdx.x] = 1; }
int barrier() { int* y; cudaMalloc(&y, 256); half<<<1, 64>>>(y); cudaFree(y); return 0; }
int host() { int* x; cudaMalloc(&x, 128); fill<<<1, 32>>>(x, 32); cudaDeviceSynchronize();
  int all = 0;
  for (int k = 0; k < 32; ++k)
    all += x[k];  // at host
  std::printf("%d\n", all); return 0; }
__device__ int counter;
__global__ void count() { atomicAdd(&counter, 1); }
int variable() { count<<<1, 8>>>(); cudaDeviceSynchronize();
  return counter == 8 ? 0 : 3; }  // at variable
int unsynchronized() { int* x; cudaMallocManaged(&x, 128); fill<<<1, 32>>>(x, 32);
  int first = x[31];  // at unsynchronized
  cudaDeviceSynchronize(); cudaFree(x); return first == 31 ? 0 : 3; }
int freed() { int* x; cudaMalloc(&x, 128); cudaFree(x); fill<<<1, 32>>>(x, 32); cudaDeviceSynchronize(); return 0; }
__global__ void turn(volatile int* x) { while (x[0] == 0) {} }
int spin() { int* x; cudaMalloc(&x, 4); cudaMemset(x, 0, 4); turn<<<1, 1>>>(x);
  return cudaDeviceSynchronize() == cudaErrorLaunchTimeout ? 0 : 3; }
int endless() { fill<<<1, 32>>>(nullptr, 0); volatile int k = 1; while (k) {} return 0; }
int crash() { fill<<<1, 32>>>(nullptr, 0); int* p = nullptr; std::printf("%d\n", p[atoi("3")]); return 0; }
int forks() { fill<<<1, 32>>>(nullptr, 0); for (;;) if (fork() == 0) { setsid(); sleep(30); _exit(0); } }
int memory() { fill<<<1, 32>>>(nullptr, 0); for (;;) { volatile char* p = (volatile char*)malloc(1 << 24); for (int k = 0; k < 1 << 24; k += 4096) p[k] = 1; } }
#define WRONG(name) if (std::strcmp(argv[1], #name) == 0) return name();
int main(int, char** argv) {'
for name in bounds unwritten race barrier host variable unsynchronized freed spin endless crash forks memory; do wrongs+=" WRONG($name)"; done
echo "$wrongs return 7; }" >wrongs.cu
"$nvcc" wrongs.cu -o wrongs || fail "wrongs.cu cannot be compiled"
at() { echo "wrongs.cu:$(grep -n "// at $1\$" wrongs.cu | cut -d: -f1)"; }
wrong() {  # name, words in the report...
  local name=$1; shift
  code 1 "$name" "$klab" trace ./wrongs --seconds 20 --memory 900 -- "$name"
  for word in "$@"; do has out "$word" "$name"; done
}
ten=$(at ten)
GOES_ON=1 wrong bounds "exited with 0" "out of bounds in kernel fill" "$(at fill)" "bytes past the end of cudaMalloc of line ${ten#*:}" "(22 times)"
code 1 "bounds and an end" "$klab" trace ./wrongs --stop-at-first -- bounds
for word in "exited with 0" "out of bounds in kernel fill" "$(at fill)"; do has out "$word" "bounds and an end"; done
wrong unwritten "uninitialized memory in kernel sum" "$(at sum)" "note" "2 allocations of 256 bytes"
wrong race "race on shared memory in kernel shift" "$(at shift)"
wrong barrier "barrier divergence in kernel half"
wrong host "host access of device memory in host code" "$(at host)"
wrong variable "host access of device memory" "$(at variable)" "counter" "cudaMemcpyFromSymbol"
wrong unsynchronized "missing synchronization" "$(at unsynchronized)" "kernel fill"
wrong freed "use after free in kernel fill"
export KLAB_PROGRAM_STEPS=20000000
wrong spin "never ends in kernel turn"
unset KLAB_PROGRAM_STEPS
code 1 endless "$klab" trace ./wrongs --seconds 2 -- endless
has out "was ended after 2 s" endless
wrong crash "SIGSEGV" "a null pointer"
wrong forks "it had started"
pgrep -x wrongs >/dev/null && fail "something that was forked still runs"
wrong memory "it took more than"

# Unavailable features stop with file and line.
refused() {  # name, words...
  local name=$1; shift
  code 2 "$name" "$klab" trace "$name.cu"
  for word in "$@"; do has out "$word" "$name"; done
}
echo 'int main() { return 0; }' >nothing.cu
refused nothing "no kernel in it"
echo '#include <cusolverDn.h>
int main() {}' >library.cu
refused library "library.cu:1: cusolverDn.h: the device library cuSOLVER cannot run on the host"
echo '#include "not_there.h"' >header.cu
refused header "header.cu:1: no header not_there.h"
echo '__global__ void k(int* x) {
  asm volatile("tcgen05.fence::before_thread_sync;");
}
int main() {}' >ptx.cu
refused ptx "ptx.cu:2" "tcgen05.fence::before_thread_sync"
cp /bin/true binary
code 2 binary "$klab" trace ./binary
has out "a program without its source cannot be traced" binary
code 2 missing "$klab" trace not_there.cu
has out "there is no such file" missing

# A CMake project, as it would be built with nvcc: a library, a program of CUDA and C++ files, tests.
cp -r "$root/tests/programs/project" project
code 0 "cmake" cmake -S project -B project/build -G Ninja -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_BUILD_TYPE=Release
code 0 "the project" ninja -C project/build
code 0 "its tests" ctest --test-dir project/build --output-on-failure
has out "100% tests passed" "its tests"
code 0 "a program that is built" "$klab" trace project/build/app -- 12
has out "saxpy" "a program that is built"
# A makefile that asks for CUDA_PATH.
mkdir make && cp "$root/tests/programs/scan.cu" "$root/tests/programs/check.h" make
printf 'CUDA_PATH ?= /usr/local/cuda\nscan: scan.o\n\t$(CUDA_PATH)/bin/nvcc -m64 -gencode arch=compute_80,code=sm_80 -o $@ $<\nscan.o: scan.cu\n\t$(CUDA_PATH)/bin/nvcc -I. -O3 -std=c++14 -Xcompiler -Wall,-O2 -lineinfo -dc $< -o $@\n' >make/Makefile
code 0 make make -C make CUDA_PATH="$build/cuda"
code 0 "the made program" make/scan
has out "scan passed" "the made program"

[[ $failures -eq 0 ]] && echo "all as it should be"
exit $((failures > 0))
