#include "harness/program/call_times.h"

#include <fmt/format.h>
#include <omp.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/check/shape_reader.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/rows.h"
#include "harness/timing/bench.h"
#include "harness/timing/machine.h"
#include "harness/timing/statistics.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kBusy = 0.25;  // hardware threads
constexpr int kColdCaches = 1;  // last-level caches that are filled between two cold calls: a program has one
constexpr double kTooSlow = std::numeric_limits<double>::infinity();

// Names this program: times of other builds say nothing about its kernels.
std::string build_identity() {
  struct stat file {};
  if (::stat("/proc/self/exe", &file) != 0) return "";
  return fmt::format("{}-{}.{}", file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

std::optional<double> time_in(const std::vector<CallTime>& times, const std::string& variant,
                              const std::vector<int64_t>& shape, int threads) {
  for (const CallTime& t : times)
    if (t.variant == variant && t.shape == shape && t.threads == threads) return t.seconds;
  return std::nullopt;
}

// Calls that decide: those that are made in every step; where an op has none, all of its calls alike.
std::vector<PlannedCall> deciding(std::span<const PlannedCall> calls) {
  std::vector<PlannedCall> list(calls.begin(), calls.end());
  std::erase_if(list, [](const PlannedCall& c) { return !(c.times > 0); });
  if (!list.empty()) return list;
  list.assign(calls.begin(), calls.end());
  for (PlannedCall& c : list) c.times = 1;
  return list;
}

std::string sizes_of(std::span<const PlannedCall> calls) {
  std::vector<std::string> sizes;
  for (const PlannedCall& c : calls)
    if (std::ranges::find(sizes, c.size) == sizes.end()) sizes.push_back(c.size);
  const std::string all = fmt::format("{}", fmt::join(sizes, " and "));
  return sizes.size() < 2 || all.size() <= 80 ? all
                                              : fmt::format("{} and {} more", sizes[0], sizes.size() - 1);
}

const char* name_of(Unit unit) {
  constexpr const char* kNames[] = {"f64", "f32", "bf16", "f16", "e4m3", "e5m2"};
  return kNames[int(unit)];
}

/// Returns the end of the reason for a choice among several formats: how long the fastest variant with factors of another format
/// takes. Empty where all variants have the same.
std::string other_format_text(std::span<const Variant* const> variants, std::span<const double> seconds,
                              size_t best) {
  const auto unit = [&](size_t i) { return variants[i]->numerics.unit; };
  size_t other = best;
  for (size_t i = 0; i < variants.size(); ++i)
    if (unit(i) != unit(best) && (other == best || seconds[i] < seconds[other])) other = i;
  if (other == best || !(seconds[best] > 0)) return "";
  const double times = seconds[other] / seconds[best];
  return fmt::format("; {}.{} in {} takes {} times as long", variants[other]->backend, variants[other]->rung,
                     name_of(unit(other)), std::isfinite(times) ? fmt::format("{:.2f}", times) : "many");
}

}  // namespace

CallTimes::CallTimes(Sources sources) : sources_(std::move(sources)) {
  read_recorded();
  read_cache();
}

CallTimes::CallTimes(std::vector<CallTime> recorded, Measure measure) {
  sources_.measure = std::move(measure);
  recorded_.times = std::move(recorded);
}

void CallTimes::note(const std::string& text) const {
  if (sources_.note) sources_.note(text);
}

void CallTimes::progress(const std::string& text) const {
  if (sources_.progress) sources_.progress(text);
}

void CallTimes::read_recorded() {
  if (sources_.recorded.empty() || !fs::exists(sources_.recorded)) return;
  try {
    const std::string here = fingerprint(this_machine());
    for (const Row& row : read_csv(sources_.recorded.string()).rows) {
      const LabOp* op = find_op(row.op);
      if (op == nullptr || row.fingerprint != here || row.seconds.empty()) continue;
      const std::vector<int64_t> shape = shape_from_text(op->op, row.shape);
      if (shape.empty()) continue;
      if (!row.cache.starts_with(cache_of_call(*op, shape) == Cache::hot ? "hot" : "cold")) continue;
      recorded_.times.push_back({current_id(row.variant), shape, row.threads, median(row.seconds)});
    }
  } catch (const std::exception& e) {
    recorded_.times.clear();
    note(fmt::format("recorded times are left out: {}", e.what()));
  }
}

void CallTimes::read_cache() {
  if (std::error_code error; sources_.cache.empty() || !fs::exists(sources_.cache, error)) return;
  try {
    const json file = read_json_file(sources_.cache);
    if (file.at("build") != build_identity()) return;
    for (const json& t : file.at("times"))
      before_.times.push_back({t.at("variant"), t.at("shape"), t.at("threads"),
                               t.at("seconds").is_null() ? kTooSlow : t.at("seconds").get<double>()});
  } catch (const std::exception& e) {
    before_.times.clear();
    note(fmt::format("{} is damaged and will be written again: {}", sources_.cache.string(), e.what()));
  }
}

void CallTimes::write_cache() {
  if (sources_.cache.empty() || !keep_) return;
  json times = json::array();
  for (const auto* source : {&before_, &now_})
    for (const CallTime& t : source->times)
      times.push_back({{"variant", t.variant},
                       {"shape", t.shape},
                       {"threads", t.threads},
                       {"seconds", std::isfinite(t.seconds) ? json(t.seconds) : json()}});
  try {
    fs::create_directories(sources_.cache.parent_path());
    write_file(sources_.cache, json{{"build", build_identity()}, {"times", times}}.dump() + "\n");
  } catch (const std::exception& e) {
    // The next run measures again.
    note(fmt::format("what was measured is not kept: {}", e.what()));
    sources_.cache.clear();
  }
}

CallTimes::Measured CallTimes::measure(const PlannedCall& call, std::span<const Variant* const> variants) {
  if (sources_.measure) return sources_.measure(call.op, call.shape, variants);
  Measured measured = measure_calls(call.op, call.shape, variants, cold_bytes_);
  if (!measured.gave_up.empty() && !std::exchange(gave_up_, true)) {
    progress("");
    note(fmt::format("{} at {}, timed cold: {}", call.op, call.size, measured.gave_up));
  }
  return measured;
}

namespace {

/// Returns the variant of that id, or the nearest of its parents that is among the list: a rung that this processor or these shapes do
/// not have was made from it. The end if there is none.
std::span<const Variant* const>::iterator nearest_rung(std::span<const Variant* const> variants,
                                                       const std::string& id) {
  const Variant* rung = find_variant(id);
  for (; rung != nullptr; rung = rung->parent.empty() ? nullptr : find_variant(rung->parent))
    if (const auto at = std::ranges::find(variants, rung->id, [](const Variant* x) { return x->id; });
        at != variants.end())
      return at;
  return variants.end();
}

}  // namespace

CallTimes::Fastest CallTimes::fastest(std::span<const PlannedCall> all,
                                      std::span<const Variant* const> variants) {
  const std::vector<PlannedCall> calls = deciding(all);
  const int threads = omp_get_max_threads();
  const auto choose = [&](const Source& source) -> std::optional<Fastest> {
    std::vector<double> sums;
    for (const Variant* v : variants) {
      double sum = 0;
      for (const PlannedCall& c : calls) {
        const auto seconds = time_in(source.times, v->id, c.shape, threads);
        if (!seconds) return std::nullopt;
        sum += c.times * *seconds;
      }
      sums.push_back(sum);
    }
    const auto best = size_t(std::ranges::min_element(sums) - sums.begin());
    return Fastest{variants[best], sums[best],
                   variants.size() == 1 ? fmt::format("the only one for {}", sizes_of(calls))
                                        : fmt::format("fastest of {} at {} ({})", variants.size(),
                                                      sizes_of(calls), source.words) +
                                              other_format_text(variants, sums, best)};
  };
  if (auto best = choose(recorded_)) return *best;
  if (auto best = choose(before_)) return *best;
  if (const auto at = stand_ins_.find(calls.front().op); at != stand_ins_.end())
    if (const auto v = nearest_rung(variants, at->second); v != variants.end()) {
      ++stood_in_;
      return {
          *v, 0,
          fmt::format("{} ({} of {}, nothing was timed)", whose_, v - variants.begin() + 1, variants.size())};
    }
  for (const PlannedCall& c : calls) {
    progress(fmt::format("measuring {} at {}", c.op, c.size));
    if (time_in(now_.times, variants.front()->id, c.shape, threads)) continue;
    const Measured measured = measure(c, variants);
    for (size_t i = 0; i < variants.size(); ++i)
      now_.times.push_back({variants[i]->id, c.shape, threads, measured.seconds[i]});
    // A rung with threads waits for those that other programs keep busy, so its time is not kept.
    if (measured.others < kBusy || !std::exchange(keep_, false)) continue;
    progress("");
    note(
        fmt::format("other programs keep {:.1f} hardware threads busy: rungs are chosen by times taken "
                    "next to them, which are not kept",
                    measured.others));
  }
  progress("");
  write_cache();
  auto best = choose(now_);
  if (!best || !std::isfinite(best->seconds))
    throw std::runtime_error(
        fmt::format("{} at {}: no variant could be timed", calls.front().op, sizes_of(calls)));
  return *best;
}

Cache cache_of_call(const LabOp& op, ShapeView shape) {
  double bytes = 0;
  for (const TableShare& table : op.op.cost(shape).tables) bytes += table.count * table.bytes;
  const auto held = double(cache_bytes(this_machine(), 2));
  return held > 0 && bytes > held ? Cache::cold : Cache::hot;
}

int64_t bytes_to_measure(const LabOp& op, ShapeView shape, int64_t cold_bytes) {
  int64_t bytes = 0;
  for (const TensorSpec& t : op.op.tensors(shape)) bytes += volume(t.dims) * size_of(t.element);
  const bool cold = cache_of_call(op, shape) == Cache::cold;
  return 2 * bytes +
         (cold ? std::min(cold_bytes, kColdCaches * last_level_bytes(this_machine()) + bytes) : 0);
}

CallTimes::Measured measure_calls(const std::string& name, const std::vector<int64_t>& shape,
                                  std::span<const Variant* const> variants, int64_t cold_bytes) {
  LabOp op = *find_op(name);
  op.traffic = Traffic::unknown;  // nothing is compared with a ceiling here
  const Cache cache = cache_of_call(op, shape);
  std::vector<double> seconds(variants.size(), kTooSlow);
  double others = 0;
  std::string gave_up;
  const auto least = [&] { return *std::ranges::min_element(seconds); };
  const auto time = [&](const std::vector<const Variant*>& list, const BenchOptions& options) {
    const Ladder ladder = bench(op, {.name = name, .shape = shape, .cache = cache}, list, options);
    others = std::max(others, ladder.others);
    gave_up = ladder.gave_up;
    for (const Series& s : ladder.series) {
      const auto at = std::ranges::find(variants, s.variant, [](const Variant* v) { return v->id; });
      if (at == variants.end() || s.seconds.empty()) continue;
      double& fastest = seconds[size_t(at - variants.begin())];
      fastest = std::min(fastest, *std::ranges::min_element(s.seconds));
    }
  };
  // One round of all, to see which come into question: first rungs take a hundred times as long as the last. The cap is
  // generous, since a call with threads is now and then held up for as long as a time slice of the system.
  BenchOptions once;
  once.rounds = once.fewest_rounds = 1;
  once.sample_seconds = 0.002;
  once.cold_caches = kColdCaches;
  once.cold_bytes = cold_bytes;
  once.check = false;
  for (once.call_cap_seconds = 0.25; once.call_cap_seconds < 1e4; once.call_cap_seconds *= 8) {
    time({variants.begin(), variants.end()}, once);
    if (least() < once.call_cap_seconds / 2) break;
  }
  std::vector<const Variant*> close;
  for (size_t i = 0; i < variants.size(); ++i)
    if (seconds[i] <= 4 * least()) close.push_back(variants[i]);
  BenchOptions often = once;
  often.rounds = 9;
  often.fewest_rounds = 3;
  often.sample_seconds = 0.005;
  often.ladder_seconds = 0.6;
  time(close, often);
  CallTimes::Measured measured(std::move(seconds), others);
  measured.gave_up = std::move(gave_up);
  return measured;
}

fs::path call_times_cache() {
  fs::path folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    folder = cache;
  else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    folder = fs::path(home) / ".cache";
  else
    return {};
  return folder / "klab" / ("call_times_" + fingerprint(this_machine()) + ".json");
}

}  // namespace klab
