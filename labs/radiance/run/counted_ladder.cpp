#include "labs/radiance/run/counted_ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/program/plan_rungs.h"
#include "harness/program/times_here.h"
#include "harness/report/table.h"
#include "harness/simt/session.h"
#include "labs/radiance/run/plan_ladder.h"

namespace klab {
namespace {

constexpr int kWarmSteps = 4;

CountedRung count_step(const Scene& scene, const Config& config, const std::string& name, const Plan& plan,
                       int warm_steps, uint64_t seed) {
  CountedRung rung{name, plan, {}, 0};
  const auto counts = std::make_shared<StepCounts>();
  const BackendChoice where = backend_named("simt");
  Trainer warm(scene, config, plan, seed, where.backend, where.sizes);
  for (int i = 0; i < warm_steps; ++i) warm.step(0);
  const CheckpointFile file(warm);
  const simt::Session session({.traced = true, .counts = false});  // uploads are watched, too
  Trainer watched(scene, config, plan, seed, counting_backend(counts), where.sizes);
  file.restore(watched);
  rung.loss = watched.step(0).loss;
  rung.counts = *counts;
  return rung;
}

std::string millions(double n) { return fmt::format("{:.2f} M", n * 1e-6); }

std::string heaviest(const StepCounts& counts) {
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [op, n] : counts.ops) sorted.emplace_back(n.sectors, op);
  std::sort(sorted.rbegin(), sorted.rend());
  const double all = double(std::max<int64_t>(1, counts.total().sectors));
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(2, sorted.size()); ++i)
    text +=
        fmt::format("{}{} {:.0f} %", i ? ", " : "", sorted[i].second, 100 * double(sorted[i].first) / all);
  return text;
}

}  // namespace

Config counted_config() {
  Config c;
  c.levels = 8;
  c.log2_table = 12;
  c.finest_resolution = 256;
  c.batch_samples = 512;
  c.first_rays = 128;
  c.max_samples_per_ray = 256;
  c.steps_per_diagonal = 96;
  c.grid = 32;
  c.grid_every = 16;  // not in the watched step
  return c;
}

std::vector<CountedRung> count_plans(const Scene& scene, const Config& config, const Plan& naive,
                                     const Plan& best, int warm_steps, const LabRun& run) {
  std::vector<CountedRung> rungs;
  const auto count = [&](const std::string& name, const Plan& plan) {
    if (run.stop && run.stop()) return;
    if (run.status) run.status("counting a step: " + name);
    rungs.push_back(count_step(scene, config, name, plan, warm_steps, run.seed));
  };
  count("naive", naive);
  if (rungs.empty()) return rungs;
  std::map<std::string, double> share;
  for (const auto& [op, n] : rungs.front().counts.ops) share[op] = double(n.sectors + n.wavefronts);
  const std::vector<PlanRung> plans = plan_rungs(naive, best, share);
  for (size_t i = 1; i < plans.size(); ++i) count(plans[i].name, plans[i].plan);
  if (run.status) run.status("");
  return rungs;
}

ContractBound contract_bound(const Config& config, int cascades, const simt::GpuModel& gpu) {
  ContractBound bound;
  for (const PlannedCall& call : training_calls(config, cascades)) {
    const Cost cost = find_op(call.op)->op.cost(call.shape);
    CountedWork work;
    work.dram_bytes = cost.bytes;
    work.flops = cost.flops;
    work.tensor = 1;  // the rate of the fastest unit, whichever a rung uses
    bound.bytes += call.times * cost.bytes;
    bound.flops += call.times * cost.flops;
    bound.seconds += call.times * least_time(work, gpu).seconds();
  }
  return bound;
}

bool run_counted_ladder(const LabRun& run) {
  const Config config = counted_config();
  CallTimes times = times_here();
  const Scene scene = load_scene("built-in", {.downscale = 1, .holdout = 8, .seed = run.seed, .say = {}});
  const std::vector<PlannedCall> calls = training_calls(config, scene.cascades);
  const Plan naive = Plan::named("naive", calls, times, "cuda"),
             best = Plan::named("best", calls, times, "cuda");
  const simt::GpuModel& gpu = simt::named_gpu();
  fmt::print(
      "one step of {} samples, {} levels of 2^{} entries, with CUDA rungs on the host executor; every plan "
      "takes "
      "the same\nstep, counted access by access\n{}",
      config.batch_samples, config.levels, config.log2_table, best.text());
  const std::vector<CountedRung> rungs = count_plans(scene, config, naive, best, kWarmSteps, run);
  if (rungs.empty()) return true;
  Table table({{"plan"},
               {"launches", Column::Kind::right},
               {"sectors", Column::Kind::right},
               {"wavefronts", Column::Kind::right},
               {"atomics", Column::Kind::right},
               {"least time on " + std::string(gpu.short_name), Column::Kind::right},
               {"most sectors"},
               {"loss apart", Column::Kind::right}});
  bool right = true;
  for (const CountedRung& r : rungs) {
    const OpWork n = r.counts.total();
    const double apart = std::abs(r.loss - rungs.front().loss) / rungs.front().loss;
    const bool same = apart <= loss_bound(kWarmSteps);
    right = right && same && r.counts.findings.empty();
    table.add({r.name, std::to_string(n.launches), millions(double(n.sectors)),
               millions(double(n.wavefronts)), millions(double(n.atomics)), seconds_text(n.least_seconds),
               heaviest(r.counts), Cell(fmt::format("{:.1f} %", 100 * apart), same ? Ink::plain : Ink::red)});
  }
  fmt::print("{}", table.text());
  for (const CountedRung& r : rungs)
    for (const std::string& finding : r.counts.findings)
      fmt::print("{} {}\n", inked("FINDING", Ink::red), finding);
  const Config whole;
  const ContractBound least = contract_bound(whole, 1, gpu);
  fmt::print(
      "least time: the sum of the calls' bounds (klab trace --on {}), no prediction of time. By the "
      "contracts "
      "alone a step\nof {} samples moves {:.0f} MB of DRAM at least and takes {} there at least\n",
      gpu.short_name, whole.batch_samples, least.bytes * 1e-6, seconds_text(least.seconds));
  return right;
}

}  // namespace klab
