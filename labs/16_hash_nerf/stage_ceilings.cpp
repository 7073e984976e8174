#include "labs/16_hash_nerf/stage_ceilings.h"

#include <utility>
#include <vector>

#include "harness/ceilings.h"
#include "harness/statistics.h"

namespace klab {

std::map<std::string, StageCeiling> ceilings_of_stages(const Profile& profile, int threads) {
  std::map<std::pair<std::string, int64_t>, double> measured;  // by name and size: stages share ceilings
  std::map<std::string, StageCeiling> result;
  for (const auto& [stage, calls] : profile.calls()) {
    const auto spent = profile.seconds().find(stage);
    const LabOp* op = find_op(calls.op);
    if (spent == profile.seconds().end() || !(spent->second > 0) || op == nullptr || op->limit.empty())
      continue;
    const Roof roof = roof_of(*op, {.name = stage, .shape = calls.shape, .cache = Cache::hot}, threads);
    const std::string name = name_of(roof.ceiling);
    double& per_second = measured[{name, roof.ceiling.working_set}];
    if (!(per_second > 0)) {
      CeilingSampler sampler(roof.ceiling);
      std::vector<double> samples;
      for (int i = 0; i < 5; ++i) samples.push_back(sampler.sample(0.01));
      per_second = median(samples);
    }
    const Cost& cost = calls.cost;
    const double work = roof.flops              ? cost.flops
                        : op->limit == "gather" ? cost.gathers * cost.entry_bytes
                                                : cost.bytes;
    if (per_second > 0) result[stage] = {name, work / spent->second / per_second};
  }
  return result;
}

}  // namespace klab
