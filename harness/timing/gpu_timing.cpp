#include "harness/timing/gpu_timing.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>

#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "harness/gpu/gpu_run.h"
#include "harness/timing/bench_inputs.h"
#include "reference/generator.h"

namespace klab {
namespace {

/// Of one variant, its calls on each set of tensors.
struct Timed {
  Series* series;
  std::vector<std::function<void()>> calls;
  size_t next = 0;
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
    const auto& sets = sets_in(place_of(op, v));
    for (const auto& set : sets) one.calls.push_back(v.device(shape.shape, set->pointers()));
    try {
      for (const auto& set : sets) set->upload(inputs.pointers(0));
      one.call();  // loads the kernel
      device.synchronize();
      const double once = std::max(one.seconds(device, 1), 1e-7);
      if (once > options.call_cap_seconds) {
        list[k].skipped =
            fmt::format("one call takes {:.2g} s; the cap is {:.2g} s", once, options.call_cap_seconds);
        continue;
      }
      list[k].iterations = std::max<int64_t>(1, int64_t(options.sample_seconds / once));
      timed.push_back(std::move(one));
    } catch (const std::exception& e) {
      list[k].wrong = fmt::format("threw: {}", e.what());
    }
  }
  Generator random(options.seed);
  for (int round = 0; round < options.rounds; ++round) {
    if (options.progress) options.progress(op.op.name + " on the GPU, " + shape.name, round, options.rounds);
    std::shuffle(timed.begin(), timed.end(), random);
    for (Timed& t : timed) {
      if (options.stop && options.stop()) return list;
      t.call();  // whoever ran before left its own data in L2
      t.series->seconds.push_back(t.seconds(device, t.series->iterations) / double(t.series->iterations));
    }
  }
  return list;
}

void check_and_time_on_gpu(const LabOp& op, const BenchShape& shape, std::span<const Variant* const> variants,
                           const BenchOptions& options, Ladder& ladder) {
  const auto entry = [&](const std::string& id) -> Series& {
    return *std::ranges::find(ladder.series, id, &Series::variant);
  };
  const auto results = check(op, variants,
                             {.seed = options.seed,
                              .max_failures = 1,
                              .shape = shape.shape,
                              .quick = true,
                              .backend = "cuda",
                              .done = {}});
  std::vector<const Variant*> good;
  for (size_t i = 0; i < variants.size(); ++i) {
    const auto& failures = results.variants[i].failures;
    if (failures.empty())
      good.push_back(variants[i]);
    else
      entry(variants[i]->id).wrong = failure_text(failures.front());
  }
  for (Series& s : time_on_gpu(op, shape, good, options)) entry(s.variant) = std::move(s);
}

}  // namespace klab
