// transpose.cpu.01_naive: read row after row, write column after column.
//
// CHANGE    two loops in the order of the input.
// EXPECT    reads stream; every write goes to another cache line, m·4 bytes from the last one. Once n lines
//           no longer fit in the cache each line is fetched and written back for every single element in
//           it.
// NUMERICS  copies bits.
#include "harness/core/registrar.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) x.out[j * m + i] = x.in[i * n + j];
}

KLAB_VARIANT(Transpose, {.run = run});

}  // namespace
}  // namespace klab
