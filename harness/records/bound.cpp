#include "harness/records/bound.h"

#include <algorithm>
#include <cmath>

#include "harness/core/registry.h"

namespace klab {
namespace {

constexpr double kSectorsAPass = 4, kFlopsAnInstruction = 64;
constexpr double kSectorBytes = 32;
constexpr double kWidest = 16;  // bytes that one load moves per lane

/// Returns the average number of busy multiprocessors, if blocks are equal.
double busy(const CountedWork& w, const simt::GpuModel& gpu) {
  const double all = gpu.multiprocessors;
  return w.blocks > 0 ? w.blocks / std::ceil(w.blocks / all) : all;
}

}  // namespace

CountedWork CountedWork::times(double factor) const {
  CountedWork more = *this;
  for (double* part :
       {&more.dram_bytes, &more.written, &more.passes, &more.requests, &more.flops, &more.blocks})
    *part *= factor;
  return more;
}

CountedWork work_of_contract(const Cost& compulsory, const Variant& variant) {
  CountedWork w;
  w.dram_bytes = compulsory.bytes;
  w.flops = compulsory.flops;
  const int bits = bits_of(variant.numerics.unit);
  w.tensor = bits == 8 ? 2 : bits == 16 ? 1 : 0;
  if (const LabOp* op = find_op(variant.op); op != nullptr && !op->bench.empty())
    for (const TensorSpec& t : op->op.tensors(op->bench.front().shape)) {
      if (t.role != Role::input) continue;
      if (t.element == Element::i8 || t.element == Element::u8) w.tensor = 2;
      if (t.element == Element::f16 || t.element == Element::bf16) w.tensor = std::max(w.tensor, 1);
    }
  return w;
}

namespace {

void add(CountedWork& w, simt::Space space, bool write, unsigned width, const simt::Counts& n) {
  if (space == simt::Space::constant) return;  // it has its own cache
  if (space == simt::Space::global) {
    w.requests += double(n.requests);
    if (write) w.written += double(n.sectors);
    w.passes += std::max(double(n.requests), double(n.sectors) / kSectorsAPass);
    return;
  }
  const double joined = std::min(1.0, double(width) / kWidest);
  w.requests += joined * double(n.requests);
  w.passes += joined * double(n.wavefronts);
}

void add(CountedWork& w, const std::vector<simt::LaunchRecord>& launches) {
  for (const simt::LaunchRecord& l : launches) {
    w.blocks = std::max(w.blocks, double(l.grid[0]) * double(l.grid[1]) * double(l.grid[2]));
    w.launches += double(l.times);
  }
}

}  // namespace

CountedWork work_of(const CountedRun& run, const Variant& variant) {
  CountedWork w = work_of_contract(run.compulsory, variant);
  for (const LineCounts& l : run.lines) add(w, l.space, l.write || l.atomic, l.width, l.counts);
  add(w, run.launches);
  return w;
}

CountedWork work_of(const simt::Profile& profile, const Cost& compulsory, const Variant& variant) {
  CountedWork w = work_of_contract(compulsory, variant);
  for (const simt::Site& s : profile.sites())
    add(w, s.space, s.write || s.atomic, s.width, s.merged() ? s.as_merged() : s.counts);
  add(w, profile.launches);
  return w;
}

LeastTime least_time(const CountedWork& w, const simt::GpuModel& gpu) {
  const simt::GpuRates& r = gpu.rates;
  const double clocks = busy(w, gpu) * r.clock;
  const double instructions = w.requests + (w.tensor > 0 ? 0 : w.flops / kFlopsAnInstruction);
  LeastTime t;
  t.limits = {{"DRAM", w.dram_bytes / r.dram},
              {"L1 and shared memory", w.passes / clocks},
              {"multiply-adds", w.flops / 2 / ((w.tensor > 0 ? w.tensor * r.tensor : r.lanes) * clocks)},
              {"instructions", instructions / (r.schedulers * clocks)}};
  if (r.l2 > 0) t.limits.push_back({"L2", kSectorBytes * w.written / (r.l2 * r.clock)});
  std::ranges::stable_sort(t.limits, std::ranges::greater(), &LeastTime::Limit::seconds);
  return t;
}

}  // namespace klab
