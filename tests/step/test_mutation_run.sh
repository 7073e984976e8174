#!/usr/bin/env bash
# `klab check --mutants` decides: changes that break a kernel are killed, one that breaks nothing survives. And this test fails
# where they are not: it is given an answer in which a known mutant lives.
set -uo pipefail
. "$(dirname "$0")/../common.sh"
export NO_COLOR=1 OMP_WAIT_POLICY=passive
count_failures

# A tree of one kernel. Its constant decides nothing, its loop everything.
mkdir -p "$tmp/tree/kernels/vector_add/cpu" "$tmp/tree/labs"
cat >"$tmp/tree/kernels/vector_add/cpu/01_scalar.cpp" <<'KERNEL'
#include "harness/core/registrar.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {
volatile int spare = 4;
void run(const VectorAdd::Args<float>& x) {
  for (int64_t i = x.shape.n; i-- > 0;) x.c[i] = x.a[i] + x.b[i];
}
KLAB_VARIANT(VectorAdd, {.run = run});
}  // namespace
}  // namespace klab
KERNEL
KLAB_ROOT=$tmp/tree "$klab" check --mutants vector_add.cpu.01_scalar --json >"$tmp/answer" 2>"$tmp/err" ||
  { cat "$tmp/answer" "$tmp/err"; fail "--mutants ends with an error"; }

# Whether each known mutant has the outcome that it must have.
decided() {
  python3 - "$1" <<'CHECK'
import json, sys
run = json.load(open(sys.argv[1]))
by = {(m["line"], m["mutation"]): m for m in run["mutants"]}
known = {(8, "+ becomes -"): "killed", (8, "> becomes >="): "killed", (8, "0 becomes 0 + 1"): "killed",
         (6, "4 becomes 4 + 1"): "survived"}
bad = [f"{key}: {by.get(key, {}).get('outcome', 'not tried')}, not {want}"
       for key, want in known.items() if by.get(key, {}).get("outcome") != want]
bad += [f"{key}: killed by nothing" for key, m in by.items() if m["outcome"] == "killed" and not m["by"]]
bad += [f"{key}: {m['by']}" for key, m in by.items() if m["outcome"] == "not judged"]
counted = run["counts"]["killed"], run["counts"]["survived"]
found = [sum(m["outcome"] == o for m in run["mutants"]) for o in ("killed", "survived")]
if list(counted) != found: bad.append(f"counts {counted}, listed {found}")
print("\n".join(bad))
sys.exit(1 if bad else 0)
CHECK
}
decided "$tmp/answer" || { cat "$tmp/answer"; fail "known mutants are not decided"; }

# Without its atomic operation this one has a race of threads that changes no result.
cat >"$tmp/tree/kernels/vector_add/cpu/01_scalar.cpp" <<'KERNEL'
#include <algorithm>
#include <functional>
#include <iterator>

#include "harness/core/registrar.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {
int64_t calls = {};
void run(const VectorAdd::Args<float>& x) {
  std::transform(x.a, std::next(x.a, x.shape.n), x.b, x.c, std::plus<float>());
#pragma omp parallel
  {
#pragma omp atomic
    calls |= x.shape.n;
  }
}
KLAB_VARIANT(VectorAdd, {.run = run});
}  // namespace
}  // namespace klab
KERNEL
if ! grep -q 'CMAKE_CXX_COMPILER:.*clang' "$build/CMakeCache.txt" && ! grep -q '^KLAB_ASAN:BOOL=ON' "$build/CMakeCache.txt"; then
  KLAB_ROOT=$tmp/tree "$klab" check --mutants vector_add.cpu.01_scalar --json >"$tmp/threads" 2>"$tmp/err" ||
    { cat "$tmp/threads" "$tmp/err"; fail "--mutants ends with an error where threads are started"; }
  python3 - "$tmp/threads" <<'CHECK' || { cat "$tmp/threads"; fail "a race of threads survives"; }
import json, sys
gone = [m for m in json.load(open(sys.argv[1]))["mutants"] if m["mutation"] == "#pragma omp atomic is gone"]
sys.exit(0 if len(gone) == 1 and gone[0]["outcome"] == "killed" and "race of threads" in gone[0]["by"] else 1)
CHECK
fi

# A check that kills nothing, one that kills everything, and one that judges nothing.
for blind in 's/"outcome": "killed"/"outcome": "survived"/' 's/"outcome": "survived"/"outcome": "killed"/' 's/"outcome": "[a-z ]*"/"outcome": "not judged"/'; do
  sed "$blind" "$tmp/answer" >"$tmp/blind"
  decided "$tmp/blind" >/dev/null && fail "an answer changed by $blind passes"
done
exit $((failures > 0))
