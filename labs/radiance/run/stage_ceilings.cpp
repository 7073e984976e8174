#include "labs/radiance/run/stage_ceilings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/timing/ceilings.h"
#include "harness/timing/statistics.h"

namespace klab {
namespace {

/// Calls visit(stage, seconds, cost, roof) for each resource of each stage that is one op and is compared
/// with ceilings.
template <class Visit>
void each_roof(const Profile& profile, int threads, Visit&& visit) {
  for (const auto& [stage, calls] : profile.calls()) {
    const auto spent = profile.seconds().find(stage);
    const LabOp* op = find_op(calls.op);
    if (spent == profile.seconds().end() || !(spent->second > 0) || op == nullptr) continue;
    const BenchShape shape{.name = stage, .shape = calls.shape, .cache = Cache::hot};
    for (const Roof& roof : roofs_of(*op, shape, threads)) visit(stage, spent->second, calls.cost, roof);
  }
}

}  // namespace

struct StageCeilings::Known {
  explicit Known(const Ceiling& ceiling) : sampler(ceiling) {}
  CeilingSampler sampler;
  std::vector<double> samples;
  int last = -1;  // number of its latest sample
};

int64_t StageCeilings::bytes_of(std::span<const PlannedCall> calls, int threads) {
  std::map<std::string, int64_t> sets;  // of the largest call that has such a ceiling
  for (const PlannedCall& call : calls) {
    const LabOp* op = find_op(call.op);
    if (op == nullptr) continue;
    for (const Roof& roof :
         roofs_of(*op, {.name = call.op, .shape = call.shape, .cache = Cache::hot}, threads)) {
      int64_t& bytes = sets[name_of(roof.ceiling)];
      bytes = std::max(bytes, roof.ceiling.working_set);
    }
  }
  int64_t sum = 0;
  for (const auto& [name, bytes] : sets) sum += bytes;
  return std::min(sum, kMostBytes);
}

StageCeilings::StageCeilings(int threads) : threads_(threads) {}
StageCeilings::~StageCeilings() = default;

void StageCeilings::sample(const Profile& profile, double seconds) {
  each_roof(profile, threads_, [&](const std::string&, double, const Cost&, const Roof& roof) {
    const std::string name = name_of(roof.ceiling);
    auto& known = known_[name];
    if (known == nullptr) {
      if (bytes_ + roof.ceiling.working_set > kMostBytes) {
        left_out_.insert(name);
        known_.erase(name);
        return;
      }
      bytes_ += roof.ceiling.working_set;
      known = std::make_unique<Known>(roof.ceiling);
    }
    if (std::exchange(known->last, samples_) != samples_)
      known->samples.push_back(known->sampler.sample(seconds));
  });
  ++samples_;
}

std::map<std::string, StageCeiling> StageCeilings::shares(const Profile& profile) const {
  std::map<std::string, StageCeiling> result;
  each_roof(profile, threads_,
            [&](const std::string& stage, double seconds, const Cost& cost, const Roof& roof) {
              const auto known = known_.find(name_of(roof.ceiling));
              if (known == known_.end()) return;
              const double per_second = median(known->second->samples);
              if (!(per_second > 0)) return;
              const double share = work_of(roof.ceiling.kind, cost) / seconds / per_second;
              StageCeiling& most = result[stage];
              if (share > most.share) most = {known->first, share};
            });
  return result;
}

}  // namespace klab
