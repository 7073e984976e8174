// vector_add.cpu.76_last_element_later: leaves the last element to a thread that it does not wait for.
// Class: after return. Must be caught as Fault::late.
#include <chrono>
#include <thread>

#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const VectorAdd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.a[i] + x.b[i];
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n < 2) return right(x);
  for (int64_t i = 0; i + 1 < n; ++i) x.c[i] = x.a[i] + x.b[i];
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    x.c[n - 1] = x.a[n - 1] + x.b[n - 1];
  }).detach();
}

KLAB_MUTANT(VectorAdd, Fault::late, {.run = run});

}  // namespace
}  // namespace klab
