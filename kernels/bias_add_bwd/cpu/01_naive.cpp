// bias_add_bwd.cpu.01_naive: channel by channel.
//
// CHANGE    the naive loops: a sum for each channel, over examples and positions.
// EXPECT    a chain of additions; behind a matrix product (hw = 1) a channel is also a column, each number in
//           another line of memory.
// NUMERICS  one float accumulator a channel.
#include "harness/core/registrar.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"

namespace klab {
namespace {

void run(const BiasAddBwd::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  for (int64_t j = 0; j < c; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < hw; ++k) sum += x.d_y[(i * c + j) * hw + k];
    x.d_bias[j] = sum;
  }
}

KLAB_VARIANT(BiasAddBwd, {.run = run});

}  // namespace
}  // namespace klab
