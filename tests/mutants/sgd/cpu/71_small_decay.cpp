// sgd.cpu.71_small_decay: a decay below 1e-4 is taken for none.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/sgd/sgd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Sgd::Args<float>& x) {
  using namespace optimizer;
  std::vector<float> hyper(x.hyper, x.hyper + x.shape.tensors * kHypers);
  for (int64_t t = 0; t < x.shape.tensors; ++t)
    if (hyper[size_t(t * kHypers + decay)] < 1e-4F) hyper[size_t(t * kHypers + decay)] = 0;
  Sgd::Args<float> other = x;
  other.hyper = hyper.data();
  call<Sgd>(*find_variant("sgd.cpu.01_naive"), other);
}

KLAB_MUTANT(Sgd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
