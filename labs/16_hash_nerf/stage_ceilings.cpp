#include "labs/16_hash_nerf/stage_ceilings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/ceilings.h"
#include "harness/statistics.h"

namespace klab {

std::map<std::string, StageCeiling> ceilings_of_stages(const Profile& profile, int threads) {
  std::vector<std::pair<Ceiling, double>> measured;  // stages share ceilings
  std::map<std::string, StageCeiling> result;
  for (const auto& [stage, calls] : profile.calls()) {
    const auto spent = profile.seconds().find(stage);
    const LabOp* op = find_op(calls.op);
    if (spent == profile.seconds().end() || !(spent->second > 0) || op == nullptr || op->limit.empty())
      continue;
    const Roof roof = roof_of(*op, {.name = stage, .shape = calls.shape, .cache = Cache::hot}, threads);
    const std::string name = name_of(roof.ceiling);
    auto known = std::find_if(measured.begin(), measured.end(),
                              [&](const auto& m) { return m.first == roof.ceiling; });
    if (known == measured.end()) {
      CeilingSampler sampler(roof.ceiling);
      std::vector<double> samples;
      for (int i = 0; i < 5; ++i) samples.push_back(sampler.sample(0.01));
      known = measured.insert(measured.end(), {roof.ceiling, median(samples)});
    }
    const double per_second = known->second;
    const Cost& cost = calls.cost;
    const double work = roof.flops              ? cost.flops
                        : op->limit == "gather" ? cost.gathers * cost.entry_bytes
                                                : cost.bytes;
    if (per_second > 0) result[stage] = {name, work / spent->second / per_second};
  }
  return result;
}

}  // namespace klab
