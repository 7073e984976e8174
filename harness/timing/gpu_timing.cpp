#include "harness/timing/gpu_timing.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <map>
#include <memory>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "harness/gpu/gpu_run.h"
#include "harness/timing/bench_inputs.h"
#include "reference/generator.h"

namespace klab {
namespace {

/// Calls of one variant on each set of tensors.
struct Timed {
  Series* series;
  std::vector<std::function<void()>> calls;
  size_t next = 0;
  double once = 0;
  void call() {
    calls[next]();
    next = (next + 1) % calls.size();
  }
  double seconds(const Gpu& gpu, int64_t times) {
    gpu.begin();
    for (int64_t i = 0; i < times; ++i) call();
    return gpu.end();
  }
};

Series& entry_of(Ladder& ladder, const std::string& variant) {
  return *std::ranges::find(ladder.series, variant, &Series::variant);
}

}  // namespace

std::vector<Series> time_on_gpu(const LabOp& op, const BenchShape& shape,
                                std::span<const Variant* const> variants, const BenchOptions& options) {
  const Gpu& device = *gpu();
  std::vector<Series> list(variants.size());
  BenchInputs inputs(op, shape.shape, Cache::hot, options.seed);
  // Variants whose tensors lie in the same kind of memory share them.
  std::map<Place, std::vector<std::unique_ptr<GpuTensors>>> all_sets;
  const auto sets_in = [&](Place place) -> const auto& {
    auto& sets = all_sets[place];
    const auto add = [&] { sets.push_back(std::make_unique<GpuTensors>(device, op, shape.shape, place)); };
    if (sets.empty()) add();
    const int64_t wanted =
        shape.cache == Cache::cold && place == Place::device
            ? copies_for_cold(sets[0]->bytes(), int64_t(device.l2), int64_t(device.memory / 2))
            : 1;
    while (int64_t(sets.size()) < wanted) add();
    return sets;
  };
  std::vector<Timed> timed;
  for (size_t k = 0; k < variants.size(); ++k) {
    const Variant& v = *variants[k];
    list[k].variant = v.id;
    list[k].skipped = !v.device ? "not compiled for a GPU" : v.supported(shape.shape, this_host());
    if (!list[k].skipped.empty()) continue;
    Timed one{.series = &list[k], .calls = {}};
    try {
      const auto& sets = sets_in(place_of(op, v));
      for (const auto& set : sets) one.calls.push_back(v.device(shape.shape, set->pointers()));
      for (const auto& set : sets) set->upload(inputs.pointers(0));
      one.call();  // loads the kernel
      device.synchronize();
      // Many calls tell what one takes: a single one waits for the processor that launches it.
      double once = std::max(one.seconds(device, 1), 1e-7);
      if (once > options.call_cap_seconds) {
        list[k].skipped =
            fmt::format("one call takes {:.2g} s; the cap is {:.2g} s", once, options.call_cap_seconds);
        continue;
      }
      if (const auto more = std::min<int64_t>(64, int64_t(options.sample_seconds / once)); more > 1)
        once = std::max(one.seconds(device, more) / double(more), 1e-7);
      one.once = once;
      list[k].iterations = std::max<int64_t>(1, int64_t(options.sample_seconds / once));
      timed.push_back(std::move(one));
    } catch (const std::exception& e) {
      list[k].wrong = fmt::format("threw: {}", e.what());
    }
  }
  double a_round = 0;
  for (const Timed& t : timed) a_round += double(t.series->iterations + 1) * t.once;
  const int rounds = std::clamp(int(options.ladder_seconds / std::max(a_round, 1e-9)),
                                std::min(options.fewest_rounds, options.rounds), options.rounds);
  Generator random(options.seed);
  for (int round = 0; round < rounds; ++round) {
    if (options.progress) options.progress(op.op.name + " on the GPU, " + shape.name, round, rounds);
    std::shuffle(timed.begin(), timed.end(), random);
    for (Timed& t : timed) {
      if (options.stop && options.stop()) return list;
      if (!t.series->wrong.empty()) continue;
      try {
        t.call();  // the variant before left its own data in L2
        t.series->seconds.push_back(t.seconds(device, t.series->iterations) / double(t.series->iterations));
      } catch (const std::exception& e) {
        t.series->wrong = fmt::format("threw in round {}: {}", round + 1, e.what());
        t.series->seconds.clear();
      }
    }
  }
  return list;
}

namespace {

/// Those that compute what the contract says at that shape or, where it is large, at a smaller one; what is wrong with the others is put
/// into their entries.
std::vector<const Variant*> right_on_gpu(const LabOp& op, const BenchShape& shape,
                                         std::span<const Variant* const> variants,
                                         const BenchOptions& options, Ladder& ladder) {
  std::vector<int64_t> checked = shrunk(op.op, shape.shape, options.check_work, [&](ShapeView s) {
    const Cost cost = op.op.cost(s);
    return cost.flops + cost.bytes;
  });
  // A smaller shape serves only when all take it that take the whole one.
  for (const Variant* v : variants)
    if (v->supported(shape.shape, this_host()).empty() && !v->supported(checked, this_host()).empty())
      checked = shape.shape;
  const auto results = check(op, variants,
                             {.seed = options.seed,
                              .max_failures = 1,
                              .shape = checked,
                              .quick = true,
                              .backend = "cuda",
                              .gradients = false,  // they are for klab check
                              .done = {}});
  std::vector<const Variant*> good;
  for (size_t i = 0; i < variants.size(); ++i) {
    const auto& failures = results.variants[i].failures;
    if (failures.empty())
      good.push_back(variants[i]);
    else
      entry_of(ladder, variants[i]->id).wrong = failure_text(failures.front());
  }
  return good;
}

}  // namespace

void check_and_time_on_gpu(const LabOp& op, const BenchShape& shape, std::span<const Variant* const> variants,
                           const BenchOptions& options, Ladder& ladder) {
  std::vector<const Variant*> good(variants.begin(), variants.end());
  if (options.check) good = right_on_gpu(op, shape, variants, options, ladder);
  for (Series& s : time_on_gpu(op, shape, good, options)) entry_of(ladder, s.variant) = std::move(s);
}

Ladder bench_on_gpu(const LabOp& op, const BenchShape& shape, std::span<const Variant* const> variants,
                    const BenchOptions& options) {
  Ladder ladder{op.op.name, shape, op.op.cost(shape.shape), {}};
  ladder.threads = omp_get_max_threads();
  ladder.cache = shape.cache == Cache::cold ? "cold: sets of tensors that exceed L2 four times" : "hot";
  for (const Variant* v : variants) ladder.series.push_back({.variant = v->id});
  check_and_time_on_gpu(op, shape, variants, options, ladder);
  if (options.stop && options.stop()) ladder.complete = false;
  return ladder;
}

}  // namespace klab
