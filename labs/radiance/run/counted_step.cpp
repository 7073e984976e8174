#include "labs/radiance/run/counted_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/report/table.h"
#include "harness/simt/gpus.h"
#include "harness/simt/session.h"

namespace klab {
namespace {

std::vector<std::pair<std::string, OpWork>> by_least_time(const StepCounts& counts) {
  std::vector<std::pair<std::string, OpWork>> ops(counts.ops.begin(), counts.ops.end());
  std::ranges::stable_sort(ops, std::greater<>(), [](const auto& op) { return op.second.least_seconds; });
  return ops;
}

}  // namespace

StepCounts count_step(const FieldSettings& settings, const Scene& scene, const Plan& plan, uint64_t seed,
                      const BackendChoice& where, const std::filesystem::path& checkpoint) {
  const auto counts = std::make_shared<StepCounts>();
  BackendChoice watched = where;
  watched.backend = counting_backend(counts);
  const simt::Session session({.traced = true, .counts = false});  // uploads are watched, too
  const auto trainer = make_trainer(settings, scene, plan, seed, watched);
  trainer->restore(TensorFile(checkpoint));
  trainer->step(1);
  return *counts;
}

void print_counts(FILE* to, const StepCounts& counts) {
  const simt::GpuModel& gpu = simt::named_gpu();
  Table table({{"counted in one step"},
               {"calls", Column::Kind::right},
               {"launches", Column::Kind::right},
               {"sectors", Column::Kind::right},
               {"wavefronts", Column::Kind::right},
               {"atomics", Column::Kind::right},
               {fmt::format("least time on {}", gpu.short_name), Column::Kind::right},
               {"by"}});
  const auto add = [&](const std::string& name, const OpWork& n, const std::string& binds) {
    table.add({name, std::to_string(n.calls), std::to_string(n.launches), std::to_string(n.sectors),
               std::to_string(n.wavefronts), std::to_string(n.atomics), seconds_text(n.least_seconds),
               binds});
  };
  for (const auto& [op, n] : by_least_time(counts)) add(op, n, n.binds);
  add("all", counts.total(), "");
  fmt::print(to, "{}", table.text());
  for (const std::string& finding : counts.findings) fmt::print(to, "FINDING {}\n", finding);
  fmt::print(to,
             "the host executor's times say nothing of a GPU; least time: a bound by the GPU's limits (klab "
             "trace --on "
             "{}), no prediction\n",
             gpu.short_name);
}

nlohmann::json counts_json(const StepCounts& counts) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [op, n] : counts.ops)
    all[op] = {{"variant", n.variant},
               {"calls", n.calls},
               {"launches", n.launches},
               {"sectors", n.sectors},
               {"wavefronts", n.wavefronts},
               {"atomics", n.atomics},
               {"least_seconds", n.least_seconds},
               {"binds", n.binds}};
  return all;
}

}  // namespace klab
