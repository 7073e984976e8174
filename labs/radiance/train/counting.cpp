#include "labs/radiance/train/counting.h"

#include "harness/core/lab.h"
#include "harness/simt/session.h"

namespace klab {
namespace {

OpWork counts_of(const Variant& v, const Cost& cost, const simt::Profile& profile) {
  OpWork n;
  n.variant = v.id;
  n.calls = 1;
  for (const simt::LaunchRecord& l : profile.launches) n.launches += l.times;
  for (const simt::Site& s : profile.sites()) {
    const simt::Counts c = s.merged() ? s.as_merged() : s.counts;
    (s.space == simt::Space::shared ? n.wavefronts : n.sectors) +=
        s.space == simt::Space::shared ? c.wavefronts : c.sectors;
    if (s.atomic) n.atomics += c.lanes;
  }
  n.compulsory = cost.bytes;
  const LeastTime least = least_time(work_of(profile, cost, v), simt::named_gpu());
  n.least_seconds = n.binds_seconds = least.seconds();
  n.binds = least.limits.front().name;
  return n;
}

}  // namespace

void OpWork::add(const OpWork& o) {
  variant = o.variant;
  calls += o.calls;
  launches += o.launches;
  sectors += o.sectors;
  wavefronts += o.wavefronts;
  atomics += o.atomics;
  compulsory += o.compulsory;
  least_seconds += o.least_seconds;
  if (o.binds_seconds > binds_seconds || binds.empty()) {
    binds = o.binds;
    binds_seconds = o.binds_seconds;
  }
}

OpWork StepCounts::total() const {
  OpWork sum;
  for (const auto& [op, n] : ops) sum.add(n);
  return sum;
}

Backend counting_backend(std::shared_ptr<StepCounts> counts) {
  Backend b = simt_backend();
  const auto bind = b.bind;
  b.bind = [counts, bind](const Variant& v, ShapeView shape, std::span<void* const> pointers) {
    return [counts, bind, &v, dims = std::vector<int64_t>(shape.begin(), shape.end()),
            tensors = std::vector<void*>(pointers.begin(), pointers.end())] {
      simt::Session session({.traced = true});
      bind(v, dims, tensors)();
      counts->ops[v.op].add(counts_of(v, find_op(v.op)->op.cost(dims), session.profile()));
      for (const simt::Finding& f : session.findings())
        counts->findings.push_back(v.id + ": " + f.describe());
    };
  };
  return b;
}

}  // namespace klab
