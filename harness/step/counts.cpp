#include "harness/step/counts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/check/cases.h"
#include "harness/core/buffers.h"
#include "harness/core/fill.h"
#include "harness/simt/modules.h"
#include "harness/simt/profile.h"
#include "harness/simt/session.h"
#include "harness/step/timing_size.h"
#include "reference/generator.h"

namespace klab {
namespace {

void add_site(const simt::Site& site, VariantCounts& all) {
  const simt::Counts c = site.merged() ? site.as_merged() : site.counts;
  const bool shared = site.space == simt::Space::shared;
  const std::string kind = shared ? "shared" : site.atomic ? "atomic" : site.write ? "store" : "load";
  const std::string counted = shared ? "bank conflicts" : kind + " sectors";
  StepCounts& counts = all.counts;
  counts[kind + " requests"] += c.requests;
  counts[counted] += shared ? c.conflicts() : c.sectors;
  if (site.atomic) counts["atomic collisions"] += c.collisions;
  const auto cost = double(shared ? c.wavefronts : c.sectors);
  const auto ideal = double(shared ? c.ideal_wavefronts : c.ideal_sectors);
  if (c.requests == 0 || cost < 2 * ideal) return;
  const simt::SourceLine where = simt::source_of(site.pc);
  all.wasteful.push_back({.file = where.file,
                          .line = where.line,
                          .write = site.write,
                          .shared = shared,
                          .cost = cost / double(c.requests),
                          .ideal = ideal / double(c.requests),
                          .requests = c.requests,
                          .stride = site.stride,
                          .counted = counted});
}

}  // namespace

VariantCounts count_variant(const LabOp& op, const Variant& variant, ShapeView shape, uint64_t seed) {
  const auto specs = op.op.tensors(shape);
  Tensors tensors(specs, Tensors::View::variant);
  Generator random(seed);
  fill(op.op, shape, specs, tensors.pointers(), Pattern::random, op.huge, random);
  poison_outputs(specs, tensors);
  simt::Session session({.traced = true, .counts = true, .seed = seed});
  variant.bind(shape, tensors.pointers())();
  VariantCounts all;
  for (const simt::Site& site : session.profile().sites()) add_site(site, all);
  for (const simt::LaunchRecord& launch : session.profile().launches) {
    const int64_t blocks = int64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    all.counts["barriers"] += launch.barriers * blocks * launch.times;
    all.counts["launches"] += launch.times;
    all.counts[kThreads] += blocks * launch.block[0] * launch.block[1] * launch.block[2] * launch.times;
    int64_t& shared = all.counts[kSharedBytes];
    shared = std::max(shared, int64_t(launch.static_shared + launch.dynamic_shared));
  }
  std::ranges::sort(all.wasteful, [](const WastefulAccess& a, const WastefulAccess& b) {
    return (a.cost - a.ideal) * double(a.requests) > (b.cost - b.ideal) * double(b.requests);
  });
  return all;
}

nlohmann::json counts_of_step(const Step& step, const Variant& yours, uint64_t seed) {
  const auto shape = counting_shape(step);
  const auto run = [&](const Variant& v) { return count_variant(*step.op, v, shape, seed); };
  const VariantCounts mine = run(yours), own = run(*step.own);
  nlohmann::json wasteful = nlohmann::json::array();
  for (const WastefulAccess& w : mine.wasteful) {
    // Costs that klab's rung has as well are inherent in the step: a hash scatters in any implementation.
    const auto in_own = own.counts.find(w.counted);
    if (in_own != own.counts.end() && mine.counts.at(w.counted) <= in_own->second) continue;
    wasteful.push_back({{"file", w.file},
                        {"line", w.line},
                        {"write", w.write},
                        {"shared", w.shared},
                        {"cost", w.cost},
                        {"ideal", w.ideal},
                        {"stride", w.stride}});
  }
  nlohmann::json elsewhere = nlohmann::json::array();
  for (const auto& other : other_counting_shapes(step, shape)) {
    const auto there = [&](const Variant& v) { return count_variant(*step.op, v, other, seed).counts; };
    elsewhere.push_back({{"shape", shape_text(step.op->op, other)},
                         {"parent", there(*step.parent)},
                         {"yours", there(yours)},
                         {"own", there(*step.own)}});
  }
  return {{"elsewhere", elsewhere},
          {"shape", shape_text(step.op->op, shape)},
          {"parent", run(*step.parent).counts},
          {"yours", mine.counts},
          {"own", own.counts},
          {"wasteful", wasteful}};
}

}  // namespace klab
