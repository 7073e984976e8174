#include "labs/radiance/run/stage_ceilings.h"

#include <utility>
#include <vector>

#include "harness/timing/ceilings.h"
#include "harness/timing/statistics.h"

namespace klab {
namespace {

/// visit(stage, seconds, calls, op, roof) for each stage that is one op and whose lab names a limit.
template <class Visit>
void each_roof(const Profile& profile, int threads, Visit&& visit) {
  for (const auto& [stage, calls] : profile.calls()) {
    const auto spent = profile.seconds().find(stage);
    const LabOp* op = find_op(calls.op);
    if (spent == profile.seconds().end() || !(spent->second > 0) || op == nullptr || op->limit.empty())
      continue;
    visit(stage, spent->second, calls, *op,
          roof_of(*op, {.name = stage, .shape = calls.shape, .cache = Cache::hot}, threads));
  }
}

}  // namespace

struct StageCeilings::Known {
  explicit Known(const Ceiling& ceiling) : sampler(ceiling) {}
  CeilingSampler sampler;
  std::vector<double> samples;
  int last = -1;  // sample() of the latest
};

StageCeilings::StageCeilings(int threads) : threads_(threads) {}
StageCeilings::~StageCeilings() = default;

void StageCeilings::sample(const Profile& profile) {
  each_roof(profile, threads_, [&](const auto&, double, const auto&, const LabOp&, const Roof& roof) {
    auto& known = known_[name_of(roof.ceiling)];
    if (known == nullptr) known = std::make_unique<Known>(roof.ceiling);
    if (std::exchange(known->last, samples_) != samples_)
      known->samples.push_back(known->sampler.sample(0.01));
  });
  ++samples_;
}

std::map<std::string, StageCeiling> StageCeilings::shares(const Profile& profile) const {
  std::map<std::string, StageCeiling> result;
  each_roof(profile, threads_,
            [&](const std::string& stage, double seconds, const Profile::Calls& calls, const LabOp& op,
                const Roof& roof) {
              const auto known = known_.find(name_of(roof.ceiling));
              if (known == known_.end()) return;
              const Cost& cost = calls.cost;
              const double work = roof.flops             ? cost.flops
                                  : op.limit == "gather" ? cost.gathers * cost.entry_bytes
                                                         : cost.bytes;
              const double per_second = median(known->second->samples);
              if (per_second > 0) result[stage] = {known->first, work / seconds / per_second};
            });
  return result;
}

}  // namespace klab
