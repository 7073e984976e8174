#include "labs/radiance/tune/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "harness/records/bound.h"
#include "harness/records/counts.h"
#include "harness/simt/modules.h"
#include "harness/simt/occupancy.h"

namespace klab {
namespace {

constexpr int kSizes[] = {64, 128, 256, 512, 1024};
constexpr double kAlike = 0.01;  // least times that differ by up to this share count as equal
constexpr uint64_t kSeed = 1;

/// A rung of a plan and its calls.
struct Rung {
  const LabOp* op;
  const Variant* variant;
  std::vector<const PlannedCall*> calls;
};

std::vector<Rung> rungs_of(const Plan& plan, const std::vector<PlannedCall>& calls) {
  std::vector<Rung> list;
  for (const PlannedCall& call : calls) {
    if (call.times <= 0) continue;
    const auto at = std::ranges::find_if(list, [&](const Rung& r) { return r.variant->op == call.op; });
    if (at != list.end()) {
      at->calls.push_back(&call);
      continue;
    }
    const Variant* v = plan.variant(call.op);
    if (v != nullptr && v->backend == "cuda") list.push_back({find_op(call.op), v, {&call}});
  }
  return list;
}

/// Runs it once on the host executor, at the small size at which its lab counts. Returns nothing if that
/// fails.
std::optional<CountedRun> counted(const Rung& rung, int threads) {
  const Blocks blocks({{rung.variant->id, threads}});
  try {
    const std::vector<int64_t>& small = rung.op->counted;
    return count_run(*rung.op, *rung.variant, small.empty() ? shape_for_counting(*rung.op) : small, kSeed);
  } catch (const std::exception&) {  // it does not run on the host executor
    return std::nullopt;
  }
}

unsigned threads_of(const CountedRun& run) {
  return run.launches.empty() ? 0 : run.launches.front().block[0];
}

/// Returns the threads of its block, or 0 if the block size is fixed.
int open_block(const Rung& rung) {
  const auto usual = counted(rung, 0);
  if (!usual || usual->launches.empty()) return 0;
  const int other = threads_of(*usual) == 64 ? 128 : 64;
  const auto asked = counted(rung, other);
  return asked && int(threads_of(*asked)) == other ? int(threads_of(*usual)) : 0;
}

/// Quality of a block size. An earlier member decides unless the two are about equal.
struct Merit {
  double seconds = 0;  // sum of the least times of all its calls in a step
  double reached = 0;  // share of the multiprocessors that get a block, averaged over these seconds
  double filled = 0;   // their occupancy

  bool better_than(const Merit& o) const {
    if (seconds < (1 - kAlike) * o.seconds) return true;
    if (seconds > (1 + kAlike) * o.seconds) return false;
    if (reached > o.reached + kAlike) return true;
    return reached > o.reached - kAlike && filled > o.filled + kAlike;
  }
};

double occupancy_of(const Rung& rung, const CountedRun& run) {
  const simt::LaunchRecord& l = run.launches.front();
  const KernelResources* known = resources_of(rung.variant->id, l.kernel);
  return simt::occupancy(simt::named_gpu(), l.block[0], known == nullptr ? 0 : known->registers,
                         l.static_shared + l.dynamic_shared)
      .fraction;
}

Merit merit_of(const Rung& rung, const CountedRun& run) {
  const CountedWork work = work_of(run, *rung.variant);
  Merit m{.filled = occupancy_of(rung, run)};
  for (const PlannedCall* call : rung.calls) {
    const double larger = rung.op->op.cost(call->shape).bytes / std::max(run.compulsory.bytes, 1.0);
    const CountedWork all = work.times(larger);
    const double seconds = call->times * least_time(all, simt::named_gpu()).seconds();
    m.seconds += seconds;
    m.reached += seconds * std::min(1.0, all.blocks / simt::named_gpu().multiprocessors);
  }
  m.reached /= std::max(m.seconds, 1e-30);
  return m;
}

/// Keeps the usual size unless another is better.
BlockChoice by_counts(const Rung& rung, int usual) {
  BlockChoice choice{.variant = rung.variant->id, .usual = usual, .threads = usual, .gain = 1, .sizes = {}};
  std::vector<int> sizes = {usual};
  for (const int threads : kSizes)
    if (threads != usual) sizes.push_back(threads);
  Merit first, best;
  for (const int threads : sizes) {
    const auto run = counted(rung, threads);
    if (!run) continue;
    const Merit merit = merit_of(rung, *run);
    choice.sizes.push_back({.name = fmt::format("{} threads", threads), .seconds = {merit.seconds}});
    if (threads == usual) first = best = merit;
    if (!merit.better_than(best)) continue;
    choice.threads = threads;
    best = merit;
  }
  choice.gain = best.seconds > 0 ? std::max(1.0, first.seconds / best.seconds) : 1;
  return choice;
}

}  // namespace

std::string blocks_text(const std::map<std::string, int>& threads) {
  std::string text;
  for (const auto& [variant, n] : threads)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", variant, n);
  return text;
}

Blocks::Blocks(const std::map<std::string, int>& threads) {
  const char* const said = std::getenv("KLAB_BLOCKS");
  there_ = said != nullptr;
  before_ = there_ ? said : "";
  std::map<std::string, int> given = threads;
  std::erase_if(given, [](const auto& one) { return one.second == 0; });
  if (given.empty()) return;
  // The first entry for a rung wins.
  setenv("KLAB_BLOCKS", (blocks_text(given) + (before_.empty() ? "" : "," + before_)).c_str(), 1);
}

Blocks::~Blocks() {
  if (there_)
    setenv("KLAB_BLOCKS", before_.c_str(), 1);
  else
    unsetenv("KLAB_BLOCKS");
}

std::map<std::string, int> open_blocks(const Plan& plan, const std::vector<PlannedCall>& calls) {
  std::map<std::string, int> open;
  for (const Rung& rung : rungs_of(plan, calls))
    if (const int usual = open_block(rung); usual > 0) open[rung.variant->id] = usual;
  return open;
}

std::vector<BlockChoice> blocks_by_counts(const Plan& plan, const std::vector<PlannedCall>& calls,
                                          const std::function<void(const std::string&)>& say) {
  std::vector<BlockChoice> choices;
  for (const Rung& rung : rungs_of(plan, calls)) {
    say(rung.variant->id);
    if (const int usual = open_block(rung); usual > 0) choices.push_back(by_counts(rung, usual));
  }
  return choices;
}

std::vector<BlockChoice> blocks_by_time(const Plan& plan, const std::vector<PlannedCall>& calls,
                                        const std::function<double(const std::string&)>& pace,
                                        const RaceOptions& options) {
  std::vector<BlockChoice> choices;
  for (const auto& [variant, usual] : open_blocks(plan, calls)) {
    if (options.stop()) break;
    BlockChoice choice{.variant = variant, .usual = usual, .threads = usual, .gain = 1, .sizes = {}};
    std::vector<int> sizes = {usual};
    for (const int threads : kSizes)
      if (threads != usual) sizes.push_back(threads);
    for (const int threads : sizes) choice.sizes.push_back({.name = fmt::format("{} threads", threads)});
    const size_t best = race(
        choice.sizes,
        [&](size_t i) {
          const Blocks blocks({{variant, sizes[i]}});
          return pace(variant);
        },
        options);
    choice.threads = sizes[best];
    choice.gain = times_as_slow(choice.sizes[best], choice.sizes[0]);
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace klab
