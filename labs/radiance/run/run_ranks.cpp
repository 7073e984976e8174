#include "labs/radiance/run/run_ranks.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/core/build_info.h"
#include "harness/records/digest.h"
#include "labs/radiance/run/settings_matrix.h"

namespace klab {

namespace fs = std::filesystem;
using nlohmann::json;

// Only one field supports pictures that take turns; most support batches in parts, and so several processes.
void RunRanks::require_options() const {
  if (run_.parts() % run_.ranks.size() != 0)
    throw std::runtime_error(
        fmt::format("--parts {}: is no multiple of the {} processes", run_.parts(), run_.ranks.size()));
  const bool dense = Exchange::way_named(run_.options.exchange) == Exchange::Way::dense;
  if (!dense && run_.ranks.size() == 1)
    throw std::runtime_error(
        fmt::format("--exchange {}: is between processes, and this one is alone; start "
                    "several by mpirun -n N, or leave it out",
                    run_.options.exchange));
  const Config& c = run_.options.settings.hash;
  if (run_.options.settings.field == kFieldOfExtras && has_adaptive_table(c) && !dense)
    throw std::runtime_error(
        fmt::format("--exchange {}: an adaptive table is moved as a whole; use --exchange dense, or "
                    "\"table\" \"fixed\" in the config",
                    run_.options.exchange));
  if (run_.options.settings.field == kFieldOfExtras && c.sampling == "error" && run_.parts() > 1)
    throw std::runtime_error(
        "config: \"sampling\" \"error\" draws the pixels of a whole batch: leave out --parts and "
        "mpirun, or take \"uniform\"");
  if (run_.options.settings.field == kFieldOfExtras) return;
  const std::string field = fmt::format("--field {}: ", run_.options.settings.field),
                    why = no_parts_because(run_.options.settings);
  if (run_.ranks.size() > 1 && !why.empty())
    throw std::runtime_error(field + why + "; start it without mpirun");
  if (run_.parts() > 1 && !why.empty()) throw std::runtime_error(field + why + "; leave out --parts");
  if (Exchange::way_named(run_.options.exchange) == Exchange::Way::touched &&
      table_groups(run_.options.settings).empty())
    throw std::runtime_error(fmt::format(
        "--exchange touched: {}has no table of which a step touches a part; use --exchange dense, or "
        "sharded, which adds up in the order of the ranks",
        field));
  if (run_.options.resident) require_option_of_field("--resident", run_.options.settings.field);
}

void RunRanks::require_alike(int64_t first_step) const {
  if (run_.ranks.size() == 1) return;
  std::string cameras;
  for (const View& v : run_.scene.train) {
    cameras += v.name;
    cameras.append(reinterpret_cast<const char*>(v.camera.pose.data()), sizeof v.camera.pose);
  }
  klab::require_alike(run_.ranks,
                      {{"version of klab", build_info().commit + (build_info().dirty ? " with changes" : "")},
                       {"scene", fmt::format("{} with {} and {} views, the first of {}x{}", run_.scene.name,
                                             run_.state.views[0], run_.state.views[1], run_.state.views[2],
                                             run_.state.views[3])},
                       {"set of cameras", sha256(cameras).substr(0, 16)},
                       {"config", json::parse(to_json_text(run_.options.settings)).dump()},
                       {"seed", std::to_string(run_.state.seed)},
                       {"--precision", run_.state.precision},
                       {"backend", run_.options.backend},
                       {"--seconds", fmt::format("{}", run_.options.seconds.value_or(0))},
                       {"--steps", fmt::format("{}", run_.options.steps.value_or(0))},
                       {"--memory", fmt::format("{}", run_.options.memory.value_or(0))},
                       {"--parts", std::to_string(run_.parts())},
                       {"--exchange", run_.options.exchange},
                       {"number of pictures at a time", fmt::format("{}", run_.options.resident.value_or(0))},
                       {"first step", fmt::format("{}", first_step)}});
}

// All ranks make the same step, so their parameters must be equal bit by bit. Finds differences before they
// are saved.
void RunRanks::require_same_parameters(const FieldTrainer& trainer) const {
  if (run_.ranks.size() == 1) return;
  double sum = 0;
  for (const std::span<const float> parameters : trainer.parameters())
    for (const float v : parameters) sum += double(v);
  klab::require_alike(run_.ranks, {{"sum of parameters, so they no longer make the same steps",
                                    fmt::format("{:.17g}", sum)}});
}

void RunRanks::name_checkpoint(const fs::path& folder) const {
  run_.ranks.if_killed(
      (folder / "checkpoint.safetensors").string(),
      fmt::format("klab train --resume {} goes on from it, with any number of processes", folder.string()));
}

void RunRanks::take_first_ranks_memory() const {
  std::string choice =
      json{{"config", config_to_json(run_.memory.choice.config)}, {"resident", run_.memory.choice.resident}}
          .dump();
  run_.ranks.broadcast(choice);
  const json first = json::parse(choice);
  run_.memory.choice.config =
      config_from_json(first.at("config").get<std::string>(), "the first rank's config");
  run_.memory.choice.resident = first.at("resident").get<int64_t>();
}

BatchShare RunRanks::share() {
  BatchShare share;
  const int64_t own = run_.parts() / run_.ranks.size();
  share.parts = run_.parts();
  share.first = own * run_.ranks.rank();
  share.own = own;
  if (run_.ranks.size() > 1) connect(share);
  return share;
}

void RunRanks::connect(BatchShare& share) {
  const Exchange::Way way = Exchange::way_named(run_.options.exchange);
  share.rank = run_.ranks.rank();
  share.ranks = run_.ranks.size();
  whole_.emplace(way, run_.ranks.carrier(), 1);
  for (const int64_t group : table_groups(run_.options.settings))
    tables_.emplace_back(way, run_.ranks.carrier(), group);
  share.sum = [this](std::span<const SharedGradient> gradients, std::span<double> numbers, float scale) {
    size_t table = 0;
    for (const SharedGradient& g : gradients)
      g.group > 0 ? tables_[table++].reduce(g.values, scale) : whole_->sum_small(g.values, scale);
    run_.ranks.sum(numbers);
  };
  share.to_all = [this](const void* mine, void* all, std::span<const int64_t> bytes) {
    std::vector<Piece> to, from;
    for (int64_t at = 0; const int64_t n : bytes) {
      to.push_back({0, bytes[size_t(run_.ranks.rank())]});
      from.push_back({at, n});
      at += n;
    }
    run_.ranks.all_to_all(mine, to, all, from);
  };
  if (run_.options.backend == "cuda" && way != Exchange::Way::touched) connect_gpus(share);
  if (way == Exchange::Way::dense) return;
  share.part_of_rank = [this](int64_t rank, size_t table, int64_t parameters) {
    const auto [begin, end] = tables_[table].part(int(rank), parameters);
    return Stretch{begin, end};
  };
  share.complete = [this](size_t table, std::span<float> parameters) { tables_[table].complete(parameters); };
  share.collect = [this](size_t table, void* elements, int64_t bytes, int64_t per, int64_t parameters,
                         bool everywhere) {
    tables_[table].collect(elements, bytes, per, parameters, everywhere);
  };
}

// Without NCCL sums go through the host's memory.
void RunRanks::connect_gpus(BatchShare& share) {
  std::string why;
  device_ranks_ = DeviceRanks::join(run_.ranks, &why);
  if (!device_ranks_) {
    fmt::print(run_.out, "note      gradients of GPUs go through the host's memory: {}\n", why);
    return;
  }
  const auto pieces = [](std::span<const Stretch> parts) {
    std::vector<Piece> list;
    for (const Stretch& p : parts)
      list.push_back({p.begin * int64_t(sizeof(float)), p.count() * int64_t(sizeof(float))});
    return list;
  };
  share.on_device = {.mean = [this](float* values, int64_t count) { device_ranks_->mean(values, count); },
                     .mean_of_parts =
                         [this, pieces](float* values, std::span<const Stretch> parts) {
                           device_ranks_->mean_of_parts(values, pieces(parts));
                         },
                     .gather_parts =
                         [this, pieces](float* values, std::span<const Stretch> parts) {
                           device_ranks_->gather_parts(values, pieces(parts));
                         }};
}

Exchange::Touched RunRanks::touched() const {
  Exchange::Touched all;
  for (const Exchange& table : tables_) all += table.touched();
  return all;
}

}  // namespace klab
