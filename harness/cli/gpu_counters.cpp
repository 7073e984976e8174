#include "harness/cli/gpu_counters.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/records/gpu_record.h"
#include "harness/report/table.h"

namespace klab {
bool ComparedCounter::agrees() const {
  return kind == Kind::least ? gpu >= 0.999 * host : std::abs(compiled.value_or(host) - gpu) < 0.05;
}

namespace {

/// Finds a counter, also under alternative names: with instructions that no lane takes part in, counted by
/// the hardware or by patched code.
std::map<std::string, double>::const_iterator find_counter(const std::map<std::string, double>& gpu,
                                                           std::string counter) {
  auto found = gpu.find(counter);
  const size_t predicate = counter.find("_pred_on_any"), hardware = counter.find("__inst_executed");
  if (found != gpu.end() || predicate == std::string::npos) return found;
  found = gpu.find(counter.erase(predicate, 12));
  return found != gpu.end() || hardware == std::string::npos
             ? found
             : gpu.find(counter.insert(hardware, "__sass").erase(hardware + 6, 1));
}

// Requested in addition to the counts of the host, for bound and occupancy.
constexpr const char* kTime = "gpu__time_duration.sum";
constexpr const char* kDramRead = "dram__bytes_read.sum";
constexpr const char* kDramWrite = "dram__bytes_write.sum";
constexpr const char* kMore[] = {kTime,
                                 kDramRead,
                                 kDramWrite,
                                 "smsp__inst_executed.sum",
                                 "launch__registers_per_thread",
                                 "launch__shared_mem_per_block",
                                 "sm__maximum_warps_per_active_cycle_pct",
                                 "sm__warps_active.avg.pct_of_peak_sustained_active"};
}  // namespace

std::map<std::string, double> counters_of(const LabOp& op, const CountedRun& run, const std::string& text,
                                          const std::string& file) {
  if (!text.starts_with("variant,") && announced_in(text).empty()) return read_ncu(text, file);
  const GpuRecord record = read_gpu_record(text, file);
  const auto at = record.find(run.variant);
  if (at == record.end())
    throw std::invalid_argument(fmt::format("{} is about other variants than {}", file, run.variant));
  const std::string shape = shape_text(op.op, run.shape);
  if (at->second.shape != shape)
    throw std::invalid_argument(
        fmt::format("{} is about {} at {}, not at {}", file, run.variant, at->second.shape, shape));
  return at->second.counts;
}

std::vector<ComparedCounter> compare_counters(const CountedRun& run, const std::map<std::string, double>& gpu,
                                              const std::string& file) {
  std::vector<ComparedCounter> list;
  const ComparedCounter* requests = nullptr;
  const bool known = !run.compiled_by.empty();
  const auto compiled = named_counters(run, true);
  const auto rate_of = [&](const std::string& words, size_t part) {
    const ComparedCounter& of = list[part];
    const auto by = [](double a, double b) { return b > 0 ? a / b : 0; };
    ComparedCounter rate{words, by(of.host, requests->host), by(of.gpu, requests->gpu),
                         ComparedCounter::Kind::rate};
    rate.part = of.part || requests->part;
    if (known) rate.compiled = by(*of.compiled, *requests->compiled);
    list.push_back(rate);
  };
  const auto named = named_counters(run);
  list.reserve(2 * named.size());  // `requests` points into it
  for (const NamedCounter& c : named) {
    if (c.ratio || c.part) continue;
    const auto at = find_counter(gpu, c.nsight);
    if (at == gpu.end() && c.rare) continue;
    if (at == gpu.end())
      throw std::invalid_argument(
          fmt::format("{} holds no {}: record it with ncu --csv --metrics \"$(klab "
                      "trace {} --metrics)\"",
                      file, c.nsight, run.variant));
    const auto rest = c.also.empty() ? gpu.end() : gpu.find(c.also);
    list.push_back({c.words, c.value, at->second});
    if (rest != gpu.end()) list.back().gpu += rest->second;
    list.back().part = rest == gpu.end() && !c.also.empty() && at->second < c.value;
    if (known) {
      const auto same = std::ranges::find(compiled, c.nsight, &NamedCounter::nsight);
      list.back().compiled = same == compiled.end() ? 0 : same->value;
    }
    if (c.words.ends_with(" requests")) requests = &list.back();
    if (requests == nullptr) continue;  // each kind's requests come first
    if (c.words.ends_with(" sectors")) rate_of(c.words + "/request", list.size() - 1);
    if (c.words == "bank conflicts") {
      const std::string which = requests->words.substr(0, requests->words.rfind(' '));
      list.back().words = which + " conflicts";
      rate_of(which + " conflicts/request", list.size() - 1);
    }
  }
  return list;
}

void compare_bound(const CountedWork& work, const simt::GpuModel& model,
                   const std::map<std::string, double>& gpu, std::vector<ComparedCounter>& list) {
  const auto of = [&](const char* metric) {
    const auto at = gpu.find(metric);
    return at == gpu.end() ? 0 : at->second;
  };
  if (const double nanoseconds = of(kTime); nanoseconds > 0)
    list.push_back({fmt::format("nanoseconds (host: the least that {} needs)", model.name),
                    least_time(work, model).seconds() * 1e9, nanoseconds, ComparedCounter::Kind::least});
  if (const double bytes = of(kDramRead) + of(kDramWrite); bytes > 0)
    list.push_back({kDramWords, work.dram_bytes, bytes});
}

std::set<std::string> metrics_of(const CountedRun& run) {
  std::set<std::string> names(std::begin(kMore), std::end(kMore));
  for (const NamedCounter& c : named_counters(run)) {
    if (!c.ratio) names.insert(c.nsight);
    if (!c.also.empty()) names.insert(c.also);
  }
  return names;
}

std::set<std::string> all_metrics() {
  CountedRun all;
  for (const simt::Space space : {simt::Space::global, simt::Space::shared, simt::Space::constant})
    for (const int kind : {0, 1, 2}) {
      LineCounts line;
      line.space = space;
      line.write = kind > 0;
      line.atomic = kind > 1;
      line.counts.requests = 1;
      all.lines.push_back(line);
    }
  return metrics_of(all);
}

std::string compared_text(const std::string& variant, const std::vector<ComparedCounter>& list) {
  const bool known = std::ranges::any_of(list, [](const auto& c) { return c.compiled.has_value(); });
  std::vector<Column> heads = {{"counter"}, {known ? "as written" : "host", Column::Kind::right}};
  if (known) heads.push_back({"as compiled", Column::Kind::right});
  heads.push_back({"GPU", Column::Kind::right});
  heads.push_back({""});
  Table table(heads);
  table.indent(2);
  int differ = 0;
  for (const ComparedCounter& c : list) {
    const auto shown = [&](double v) {
      return fmt::format(fmt::runtime(c.kind == ComparedCounter::Kind::rate ? "{:.1f}" : "{:.0f}"), v);
    };
    Cell verdict("");
    if (c.kind == ComparedCounter::Kind::least) {
      verdict = c.agrees() ? Cell("not less", Ink::green) : Cell("less than can be", Ink::red);
      differ += c.agrees() ? 0 : 1;
    } else if (c.judged()) {
      verdict = c.agrees() ? Cell("equal", Ink::green) : Cell("differs", Ink::red);
      differ += c.agrees() ? 0 : 1;
    }
    std::vector<Cell> cells = {c.words, shown(c.host)};
    if (known) cells.emplace_back(c.compiled ? shown(*c.compiled) : "");
    cells.emplace_back(shown(c.gpu));
    cells.push_back(verdict);
    table.add(std::move(cells));
  }
  return fmt::format("{}\n{}{}\n", inked(variant, Ink::bold), table.text(),
                     differ == 0 ? "the GPU counted what the host counts"
                                 : fmt::format("{} of the counts per request, or the bound, differ", differ));
}

nlohmann::ordered_json compared_json(const std::string& variant, const std::vector<ComparedCounter>& list) {
  nlohmann::ordered_json j = {{"variant", variant}, {"counters", nlohmann::ordered_json::array()}};
  for (const ComparedCounter& c : list) {
    j["counters"].push_back({{"counter", c.words}, {"host", c.host}, {"gpu", c.gpu}});
    if (c.compiled) j["counters"].back()["compiled"] = *c.compiled;
    if (c.judged()) j["counters"].back()["agrees"] = c.agrees();
  }
  return j;
}

}  // namespace klab
