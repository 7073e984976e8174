// Parts of a run for several processes, or for a batch in parts.
#include <fmt/format.h>

#include <stdexcept>

#include "harness/core/build_info.h"
#include "harness/records/digest.h"
#include "labs/radiance/run/run_job.h"
#include "labs/radiance/run/settings_matrix.h"

namespace klab {

namespace fs = std::filesystem;
using nlohmann::json;

// Only one field supports pictures that take turns; most support batches in parts, and so several processes.
void RunJob::require_what_several_can() const {
  if (parts() % ranks_.size() != 0)
    throw std::runtime_error(
        fmt::format("--parts {}: is no multiple of the {} processes", parts(), ranks_.size()));
  const bool dense = Exchange::way_named(o_.exchange) == Exchange::Way::dense;
  if (!dense && ranks_.size() == 1)
    throw std::runtime_error(
        fmt::format("--exchange {}: is between processes, and this one is alone; start "
                    "several by mpirun -n N, or leave it out",
                    o_.exchange));
  const Config& c = o_.settings.hash;
  if (o_.settings.field == kFieldOfExtras && has_adaptive_table(c) && !dense)
    throw std::runtime_error(
        fmt::format("--exchange {}: an adaptive table is moved as a whole; use --exchange dense, or "
                    "\"table\" \"fixed\" in the config",
                    o_.exchange));
  if (o_.settings.field == kFieldOfExtras && c.sampling == "error" && parts() > 1)
    throw std::runtime_error(
        "config: \"sampling\" \"error\" draws the pixels of a whole batch: leave out --parts and "
        "mpirun, or take \"uniform\"");
  if (o_.settings.field == kFieldOfExtras) return;
  const std::string field = fmt::format("--field {}: ", o_.settings.field),
                    why = no_parts_because(o_.settings);
  if (ranks_.size() > 1 && !why.empty()) throw std::runtime_error(field + why + "; start it without mpirun");
  if (parts() > 1 && !why.empty()) throw std::runtime_error(field + why + "; leave out --parts");
  if (Exchange::way_named(o_.exchange) == Exchange::Way::touched && table_groups(o_.settings).empty())
    throw std::runtime_error(fmt::format(
        "--exchange touched: {}has no table of which a step touches a part; use --exchange dense, or "
        "sharded, which adds up in the order of the ranks",
        field));
  if (o_.resident) require_option_of_field("--resident", o_.settings.field);
}

// Checks that ranks agree on everything that matters before the first step.
void RunJob::require_alike_ranks() {
  if (ranks_.size() == 1) return;
  std::string cameras;
  for (const View& v : scene_.train) {
    cameras += v.name;
    cameras.append(reinterpret_cast<const char*>(v.camera.pose.data()), sizeof v.camera.pose);
  }
  require_alike(ranks_,
                {{"version of klab", build_info().commit + (build_info().dirty ? " with changes" : "")},
                 {"scene", fmt::format("{} with {} and {} views, the first of {}x{}", scene_.name,
                                       state_.views[0], state_.views[1], state_.views[2], state_.views[3])},
                 {"set of cameras", sha256(cameras).substr(0, 16)},
                 {"config", json::parse(to_json_text(o_.settings)).dump()},
                 {"seed", std::to_string(state_.seed)},
                 {"--precision", state_.precision},
                 {"backend", o_.backend},
                 {"--seconds", fmt::format("{}", o_.seconds.value_or(0))},
                 {"--steps", fmt::format("{}", o_.steps.value_or(0))},
                 {"--memory", fmt::format("{}", o_.memory.value_or(0))},
                 {"--parts", std::to_string(parts())},
                 {"--exchange", o_.exchange},
                 {"number of pictures at a time", fmt::format("{}", o_.resident.value_or(0))},
                 {"first step", fmt::format("{}", checkpoint_ ? Trainer::steps_in(*checkpoint_) : 0)}});
}

// Sets the message for a killed rank.
void RunJob::name_what_is_left(const fs::path& folder) {
  ranks_.if_killed(
      (folder / "checkpoint.safetensors").string(),
      fmt::format("klab train --resume {} goes on from it, with any number of processes", folder.string()));
}

// Connects the trainers of several ranks.
void RunJob::connect(BatchShare& share) {
  const Exchange::Way way = Exchange::way_named(o_.exchange);
  share.rank = ranks_.rank();
  share.ranks = ranks_.size();
  whole_.emplace(way, ranks_.carrier(), 1);
  for (const int64_t group : table_groups(o_.settings)) tables_.emplace_back(way, ranks_.carrier(), group);
  share.sum = [this](std::span<const SharedGradient> gradients, std::span<double> numbers, float scale) {
    size_t table = 0;
    for (const SharedGradient& g : gradients)
      g.group > 0 ? tables_[table++].reduce(g.values, scale) : whole_->sum_small(g.values, scale);
    ranks_.sum(numbers);
  };
  share.to_all = [this](const void* mine, void* all, std::span<const int64_t> bytes) {
    std::vector<Piece> to, from;
    for (int64_t at = 0; const int64_t n : bytes) {
      to.push_back({0, bytes[size_t(ranks_.rank())]});
      from.push_back({at, n});
      at += n;
    }
    ranks_.all_to_all(mine, to, all, from);
  };
  if (o_.backend == "cuda" && way != Exchange::Way::touched) connect_gpus(share);
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
void RunJob::connect_gpus(BatchShare& share) {
  std::string why;
  device_ranks_ = DeviceRanks::join(ranks_, &why);
  if (!device_ranks_) {
    fmt::print(words_, "note      gradients of GPUs go through the host's memory: {}\n", why);
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

// Returns the counts over all tables.
Exchange::Touched RunJob::touched() const {
  Exchange::Touched all;
  for (const Exchange& table : tables_) all += table.touched();
  return all;
}

// Uses the first rank's choice of memory on all ranks.
void RunJob::take_first_ranks_choice() {
  std::string choice =
      json{{"config", config_to_json(memory_.choice.config)}, {"resident", memory_.choice.resident}}.dump();
  ranks_.broadcast(choice);
  const json first = json::parse(choice);
  memory_.choice.config = config_from_json(first.at("config").get<std::string>(), "the first rank's config");
  memory_.choice.resident = first.at("resident").get<int64_t>();
}

}  // namespace klab
