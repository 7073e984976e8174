#include "harness/bench.h"

#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "harness/buffers.h"
#include "harness/check.h"

namespace klab {

Ladder bench(const LabOp& op, const BenchShape& shape, std::span<const Variant* const> variants,
             const BenchOptions& options) {
  using Clock = std::chrono::steady_clock;
  Ladder ladder{op.op.name, shape, op.op.cost(shape.shape), {}};
  const auto specs = op.op.tensors(shape.shape);
  std::mt19937_64 g(options.seed);
  Tensors tensors(specs, Tensors::View::variant);
  for (size_t k = 0; k < specs.size(); ++k) {
    if (specs[k].element != Element::f32) { std::memset(tensors[k].data(), 0, size_t(tensors[k].bytes())); continue; }
    std::uniform_real_distribution<float> d(specs[k].draw == Draw::unit ? 0.F : -1.F, 1.F);
    std::minstd_rand fast{unsigned(g())};
    for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i) tensors[k].as<float>()[i] = d(fast);
  }
  if (op.op.arrange) op.op.arrange(shape.shape, tensors.pointers(), g);
  struct Runner { size_t index; std::function<void()> call; int64_t iterations; };
  std::vector<Runner> runners;
  for (const Variant* v : variants) {
    ladder.series.push_back({.variant = v->id});
    Series& s = ladder.series.back();
    s.skipped = v->supported(shape.shape, this_host());
    if (!s.skipped.empty()) continue;
    auto call = v->bind(shape.shape, tensors.pointers());
    const auto begin = Clock::now();
    call();
    double once = std::chrono::duration<double>(Clock::now() - begin).count();
    if (once > options.call_cap_seconds) { s.skipped = "one call takes longer than the cap"; continue; }
    if (once < options.sample_seconds) { const auto again = Clock::now(); call(); once = std::chrono::duration<double>(Clock::now() - again).count(); }
    s.iterations = std::max<int64_t>(1, int64_t(options.sample_seconds / std::max(once, 1e-7)));
    runners.push_back({ladder.series.size() - 1, call, s.iterations});
  }
  for (int round = 0; round < options.rounds; ++round) {
    std::shuffle(runners.begin(), runners.end(), g);
    for (Runner& r : runners) {
      const auto begin = Clock::now();
      for (int64_t i = 0; i < r.iterations; ++i) r.call();
      ladder.series[r.index].seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / double(r.iterations));
    }
  }
  return ladder;
}

}  // namespace klab
