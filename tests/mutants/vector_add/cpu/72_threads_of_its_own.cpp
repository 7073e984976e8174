// vector_add.cpu.72_threads_of_its_own: four threads, however many it is given.
// Class: threads. Must be caught as Fault::threads.
#include <thread>
#include <vector>

#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  std::vector<std::thread> team;
  for (int64_t t = 0; t < 4; ++t)
    team.emplace_back([=] {
      for (int64_t i = n * t / 4; i < n * (t + 1) / 4; ++i) x.c[i] = x.a[i] + x.b[i];
    });
  for (std::thread& t : team) t.join();
}

KLAB_MUTANT(VectorAdd, Fault::threads, {.run = run});

}  // namespace
}  // namespace klab
