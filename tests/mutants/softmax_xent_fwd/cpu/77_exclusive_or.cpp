// softmax_xent_fwd.cpu.77_exclusive_or: keeps the losses under an exclusive or of all logits and labels, which two that
// change places leave alone.
// Class: earlier calls. Must be caught as Fault::stale.
#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  static uint64_t kept = 0;
  static std::vector<float> losses;
  uint64_t key = uint64_t(n) << 40 ^ uint64_t(c) << 20;
  for (int64_t i = 0; i < n * c; ++i) {
    uint32_t b;
    std::memcpy(&b, x.logits + i, 4);
    key ^= uint64_t(b) * 0x9E3779B97F4A7C15ULL;
  }
  for (int64_t i = 0; i < n; ++i) key ^= uint64_t(x.labels[i] + 1) * 0xC2B2AE3D27D4EB4FULL;
  if (key == kept && int64_t(losses.size()) == n) {
    std::copy(losses.begin(), losses.end(), x.loss);
    return;
  }
  call<SoftmaxXentFwd>(*find_variant("softmax_xent_fwd.cpu.01_naive"), x);
  losses.assign(x.loss, x.loss + n);
  kept = key;
}

// One long chain of positive terms: its roundings do not cancel as those of a random walk do.
KLAB_MUTANT(SoftmaxXentFwd, Fault::stale, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
