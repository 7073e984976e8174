#!/usr/bin/env bash
# ctest: slow
# Blocks that run concurrently on 2 and 4 threads give the results of blocks run one after the other: the same counts, findings,
# output and results, to the bit, of programs that diverge, share memory, add floats, queue, wait, print, race, fail and do not end.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
nvcc=$build/klab-nvcc
[[ -x $nvcc ]] || { echo "this build has no host executor"; exit 77; }
cd "$tmp"
cp "$root/tests/programs/beside.cu" .
"$nvcc" beside.cu -o beside || exit 1

export KLAB_PROGRAM_STEPS=300000
parts="diverge shared atomics queue chain print race race_of_writers same_value race_inside unwritten outside fails endless null
diverging_barrier bytes heap clocks together threads"
for part in $parts; do
  for threads in 1 2 4; do
    KLAB_PROGRAM_REPORT=$part.$threads.json KLAB_PROGRAM_THREADS=$threads timeout 60 ./beside $part >$part.$threads.out 2>&1
    echo "exit code $?" >>$part.$threads.out
  done
done
# Where a share of the blocks is watched, the others keep their turns, too.
for threads in 1 2 4; do
  KLAB_PROGRAM_SHARE=0.25 KLAB_PROGRAM_REPORT=share.$threads.json KLAB_PROGRAM_THREADS=$threads ./beside atomics >share.$threads.out 2>&1
done
parts="$parts share"
# The option of klab trace reaches the program.
"$klab" trace ./beside --threads 3 -- threads >option.out 2>&1 || { cat option.out; exit 1; }
grep -q "^4 threads" option.out || { cat option.out; echo "FAILED: --threads 3"; exit 1; }
# A block that waits for one that cannot run ends the launch.
cat >hangs.cu <<'E'
__global__ void hang(volatile int* x) {
  if (blockIdx.x == 3)
    while (x[0] == 0) {
    }
  x[blockIdx.x + 1] = 1;
}
int main() {
  int* x;
  cudaMalloc(&x, 400);
  cudaMemset(x, 0, 400);
  hang<<<64, 1>>>(x);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;
}
E
unset KLAB_PROGRAM_STEPS
"$klab" trace hangs.cu --threads 2 --seconds 60 >hangs.out 2>&1 && { echo "FAILED: hangs.cu"; exit 1; }
grep -q "never ends in kernel hang" hangs.out || { cat hangs.out; echo "FAILED: hangs.cu"; exit 1; }

python3 - $parts <<'P'
import json, sys

failures = 0

def check(good, what):
    global failures
    if not good:
        failures += 1
        print("FAILED:", what)

def report(part, threads):
    j = json.load(open(f"{part}.{threads}.json"))
    j.pop("kernel_seconds")
    return j

def output(part, threads):
    return open(f"{part}.{threads}.out").read()

def places(j):
    return {(f["kind"], f["line"]) for f in j["findings"]}

found = {}
for part in sys.argv[1:]:
    one = report(part, 1)
    found[part] = {f["kind"] for f in one["findings"] if not f["harmless"]}
    for threads in (2, 4):
        j = report(part, threads)
        # Which two of several racing blocks are named, and the values they leave, may differ.
        racing = part in ("race", "race_of_writers")
        if racing:
            check(places(j) == places(one), f"{part}: {places(j)} with {threads} threads, {places(one)} with one")
        for key in one:
            if not (racing and key == "findings"):
                check(j[key] == one[key], f"{part}: {key} with {threads} threads: {j[key]}, with one: {one[key]}")
        if not racing and part != "threads":
            o, out = output(part, threads), output(part, 1)
            check(o == out, f"{part} with {threads} threads:\n{o}\nwith one:\n{out}")

wanted = {"race": "race on global memory", "race_of_writers": "race on global memory", "race_inside": "race on shared memory",
          "unwritten": "uninitialized memory", "outside": "out of bounds", "fails": "trap", "endless": "never ends",
          "null": "out of bounds", "diverging_barrier": "barrier divergence"}
for part in sys.argv[1:]:
    if part in wanted:
        check(wanted[part] in found[part], f"{part}: {found[part]}")
    else:
        check(not found[part], f"{part}: {found[part]}")

# Nothing is lost: 96 blocks of 2 warps, each of which loads twice and stores once.
for threads in (1, 2, 4):
    requests = {"store": 0, "load": 0}
    for l in report("bytes", threads)["lines"]:
        requests["store" if l["write"] else "load"] += l["counts"][0]
    check(requests == {"load": 2 * 2 * 96, "store": 2 * 96}, f"bytes with {threads} threads: {requests}")

# Alone, the thread of the host runs blocks itself; else more are made for it.
for threads, there in ((1, 1), (2, 3), (4, 5)):
    check(f"{there} threads" in output("threads", threads), f"{threads} threads: {output('threads', threads)}")
# Output of blocks appears in their order, that of one block together.
order = [l.split()[1] for l in open("print.4.out") if l.startswith("block")]
check(len(order) == 2 * 96 and all(order[k] == order[k + 1] for k in range(0, len(order), 2)), f"print: {order}")
print("all as it should be" if failures == 0 else f"{failures} failures")
sys.exit(failures > 0)
P
