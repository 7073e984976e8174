#include "labs/radiance/run/budget.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/records/memory_left.h"
#include "harness/records/numbers.h"
#include "harness/report/table.h"

namespace klab {
namespace {

constexpr int64_t kMega = 1'000'000;
constexpr int64_t kLeastTable = 12;    // log2_table
constexpr int64_t kLeastResident = 2;  // pictures
constexpr int64_t kFairResident = 16;  // pictures that are worth more than a larger batch
constexpr int64_t kLeastPixels = 512;  // of a picture at a time
constexpr int64_t kLargePage = 2 << 20, kSmallTensor = 1 << 20;  // bytes, of memory.cpp and runner.cpp
// What ceilings are measured with: arrays of four times the last cache, 128 MB at least, of several kinds.
constexpr int64_t kCeilings = 300 * kMega;
// Threads' stacks, plans, names, what the library keeps of what was given back: measured as 20 MB or so.
constexpr int64_t kLoose = 32 * kMega;

int64_t kilobytes_of(const char* wanted) {
  std::ifstream in("/proc/self/status");
  for (std::string key; in >> key;) {
    int64_t kilobytes = 0;
    if (key == wanted && in >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

int64_t picture_bytes(std::span<const View> views) {
  int64_t bytes = 0;
  for (const View& v : views) bytes += 4 * v.pixels() + int64_t(v.depth.size() * sizeof(float));
  return bytes;
}

/// Of the lists of pixels that count, which views may share: the scene's own, and the copy that rays are drawn by.
int64_t list_bytes(std::span<const View> views) {
  std::set<const std::vector<int32_t>*> lists;
  int64_t bytes = 0;
  for (const View& v : views)
    if (v.with_ray && lists.insert(v.with_ray.get()).second) bytes += 2 * 4 * int64_t(v.with_ray->size());
  return bytes;
}

/// Of a resident choice, options of its pool.
PicturePool::Options pool_of(const MemoryFacts& f, const MemoryChoice& c) {
  return {.resident = c.resident, .ahead = f.ahead, .workers = f.workers};
}

bool on_the_disk(const Scene& scene) {
  return std::ranges::all_of(scene.train, [](const View& v) { return v.source != nullptr; });
}

/// The lists' tensors by owner; the pictures' are left out.
struct OfLists {
  int64_t table = 0, optimizer = 0, grid = 0, batch = 0;
};

OfLists of_lists(const MemoryFacts& f, const Config& c) {
  Config one = c;
  one.batch_samples = std::max<int64_t>(1, c.batch_samples / f.parts);
  one.first_rays = std::max<int64_t>(1, c.first_rays / f.parts);
  // Pictures are counted by themselves; what has a place for each view is small.
  const int64_t views = int64_t(f.scene->train.size());
  const TrainStep step(one, f.scene->cascades, {.views = views, .pixels = views}, f.sizes);
  const StepTensors& t = step.t;
  const auto number = [](const void* tensor) { return Arena::place_of(tensor).tensor; };
  std::set<int> table, optimizer;
  for (const Part part : kParts) {
    const auto p = size_t(part);
    table.insert(number(t.parameters[p]));
    for (const void* tensor : {static_cast<const void*>(t.gradient[p]), static_cast<const void*>(t.m[p]),
                               static_cast<const void*>(t.v[p]), static_cast<const void*>(t.steps[p]),
                               static_cast<const void*>(t.average[p])})
      if (tensor != nullptr) optimizer.insert(number(tensor));
  }
  const std::set<int> grid = {number(t.values), number(t.bits)};
  OfLists sums;
  for (size_t i = 0; i < step.arena.tensors().size(); ++i) {
    const int at = int(i);
    int64_t bytes = step.arena.bytes(step.arena.tensors()[i]);
    // Arrays are whole pages of the large kind, and so are all but small tensors of the batch.
    if (bytes >= kSmallTensor || table.contains(at) || optimizer.contains(at) || grid.contains(at))
      bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
    (table.contains(at)       ? sums.table
     : optimizer.contains(at) ? sums.optimizer
     : grid.contains(at)      ? sums.grid
                              : sums.batch) += bytes;
  }
  if (f.own_parts > 1) sums.optimizer += sums.table;  // where the parts' gradients are added up
  return sums;
}

/// While the rungs of an op are timed: its tensors, as they are and as they were.
int64_t bytes_to_time(const std::vector<PlannedCall>& calls) {
  int64_t most = 0;
  for (const PlannedCall& call : calls) {
    const LabOp* op = find_op(call.op);
    if (op == nullptr || !(call.times > 0)) continue;
    int64_t bytes = 0;
    for (const TensorSpec& t : op->op.tensors(call.shape)) bytes += volume(t.dims) * size_of(t.element);
    most = std::max(most, 2 * bytes);
  }
  return most;
}

std::string pictures_text(const MemoryFacts& f, const MemoryChoice& c) {
  const auto all = int64_t(f.scene->train.size());
  if (c.resident == 0) return fmt::format("all {} for training, {} for testing", all, f.scene->test.size());
  return fmt::format("{} of {} at a time, {} read ahead by {} thread{}", c.resident, all, f.ahead, f.workers,
                     f.workers == 1 ? "" : "s");
}

}  // namespace

int64_t resident_memory() { return kilobytes_of("VmRSS:"); }
int64_t peak_memory() { return kilobytes_of("VmHWM:"); }

int64_t bytes_from(std::string_view text) {
  static const std::pair<const char*, double> units[] = {{"kb", 1e3},     {"mb", 1e6},     {"gb", 1e9},
                                                         {"tb", 1e12},    {"kib", 0x1p10}, {"mib", 0x1p20},
                                                         {"gib", 0x1p30}, {"tib", 0x1p40}};
  const auto fail = [&] {
    throw std::invalid_argument(fmt::format(
        "must be a size with its unit, from 1MB to 1000TB, such as 800MB, 4GB or 1.5GiB; found '{}'", text));
  };
  const size_t end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == std::string_view::npos) fail();
  std::string unit(text.substr(end));
  std::erase(unit, ' ');
  for (char& ch : unit) ch = char(std::tolower(static_cast<unsigned char>(ch)));
  const auto at = std::ranges::find(units, unit, [](const auto& u) { return std::string(u.first); });
  if (at == std::end(units)) fail();
  double number = 0;
  try {
    number = number_from<double>(text.substr(0, end), {0, 1e15});
  } catch (const std::invalid_argument&) {
    fail();
  }
  const double bytes = number * at->second;
  if (!within(bytes, {1e6, 1e15})) fail();
  return int64_t(bytes);
}

std::string bytes_text(int64_t bytes) {
  return bytes < 1'000 * kMega ? fmt::format("{:.0f} MB", double(bytes) * 1e-6)
                               : fmt::format("{:.2f} GB", double(bytes) * 1e-9);
}

int64_t MemoryAccount::total() const {
  int64_t sum = 0;
  for (const Share& s : shares) sum += s.bytes;
  return sum;
}

int64_t MemoryAccount::of(const std::string& owner) const {
  const auto at = std::ranges::find(shares, owner, &Share::owner);
  return at == shares.end() ? 0 : at->bytes;
}

MemoryAccount memory_account(const MemoryFacts& f, const MemoryChoice& c) {
  const Scene& scene = *f.scene;
  // With lenses and masks that were looked at before the run was counted, and their copies.
  const int64_t program = f.program + kLoose + list_bytes(scene.train) / 2;
  int64_t pictures = picture_bytes(scene.train) + picture_bytes(scene.test), decoding = 0;
  if (c.resident > 0) {
    pictures = PicturePool::bytes_of(scene.train, pool_of(f, c));
    decoding = PicturePool::bytes_to_decode(scene.train, pool_of(f, c));
  } else if (on_the_disk(scene)) {
    decoding = PicturePool::bytes_to_decode(scene.train, {.workers = omp_get_max_threads()});
  }
  int64_t largest = 0;  // test view
  for (const View& v : scene.test) largest = std::max(largest, v.pixels());
  const OfLists lists = f.trainer > 0 ? OfLists{} : of_lists(f, c.config);
  const int64_t trainer = f.trainer + lists.table + lists.optimizer + lists.grid + lists.batch;
  const int64_t model = f.trainer > 0 ? f.model : lists.table;
  const int64_t drawing = f.trainer > 0 ? 0 : Renderer::bytes_of(c.config, c.pixels);
  // In phases, of which the largest counts: before the first step, beside the steps, and behind the last one.
  const int64_t beside = (c.ceilings ? kCeilings : 0) + std::max(model, f.resumed);
  const int64_t before = std::max(bytes_to_time(f.timed) + f.resumed - trainer, int64_t{0});
  const int64_t behind = f.evaluated && !scene.test.empty()
                             ? model + drawing + 72 * largest + (c.ceilings ? kCeilings : 0) - trainer
                             : 0;
  const int64_t scratch = std::max({beside, before, behind, int64_t{0}});
  MemoryAccount account;
  account.shares = {{"program", program, "code, libraries, stacks"},
                    {"pictures", pictures + decoding, pictures_text(f, c)}};
  const Config& k = c.config;
  if (f.trainer > 0)
    account.shares.push_back({"trainer", f.trainer, f.trainer_text});
  else
    account.shares.insert(
        account.shares.end(),
        {{"table", lists.table, fmt::format("2^{} entries a level, and the networks", k.log2_table)},
         {"optimizer", lists.optimizer, "gradients, moments, averages"},
         {"grid", lists.grid,
          fmt::format("{}^3 cells, {} cascade{}", k.grid, scene.cascades, scene.cascades == 1 ? "" : "s")},
         {"batch", lists.batch, fmt::format("{} samples a step", k.batch_samples)}});
  account.shares.push_back({"scratch", scratch,
                            c.ceilings ? "ceilings; saving, timing, test pictures"
                                       : "saving, timing, test pictures; no ceilings"});
  return account;
}

namespace {

/// Tries choices from the largest down.
class Fitting {
 public:
  Fitting(const MemoryFacts& facts, const MemoryChoice& wanted, int64_t budget)
      : f_(facts), wanted_(wanted), budget_(budget), views_(int64_t(facts.scene->train.size())) {}

  /// The first that fits; false where none does.
  bool fit(MemoryChoice& found) const {
    if (fits(wanted_)) return found = wanted_, true;
    MemoryChoice c = wanted_;
    c.ceilings = false;
    if (fits(c)) return found = c, true;
    if (f_.trainer > 0) return false;
    const int64_t table = wanted_.config.log2_table,
                  least = f_.resumed > 0 ? table : std::min(table, kLeastTable);
    const int64_t batch = wanted_.config.batch_samples;
    for (int64_t t = table; t >= least; --t)
      for (int64_t b = batch; b >= std::max(kLeastBatch, batch / 4); b /= 2)
        if (with(t, b, std::min(views_, kFairResident), found)) return true;
    for (int64_t b = batch; b >= std::min(batch, kLeastBatch); b /= 2)
      if (with(least, b, std::min(views_, kLeastResident), found)) return true;
    return false;
  }
  MemoryChoice least() const {
    MemoryChoice c = wanted_;
    c.ceilings = false;
    if (f_.trainer > 0) return c;
    if (f_.resumed == 0) c.config.log2_table = std::min(c.config.log2_table, kLeastTable);
    while (c.config.batch_samples / 2 >= kLeastBatch) c.config.batch_samples /= 2;
    c.config.first_rays = std::min(c.config.first_rays, c.config.batch_samples);
    c.pixels = kLeastPixels;
    if (on_the_disk(*f_.scene)) c.resident = std::min(views_, kLeastResident);
    return c;
  }

 private:
  bool fits(const MemoryChoice& c) const { return memory_account(f_, c).total() <= budget_; }

  /// A table and a batch; with as many pictures as there is room for, `fewest` at least.
  bool with(int64_t table, int64_t batch, int64_t fewest, MemoryChoice& found) const {
    MemoryChoice c = wanted_;
    c.ceilings = false;
    c.config.log2_table = table;
    c.config.batch_samples = batch;
    c.config.first_rays = std::min(c.config.first_rays, batch);
    for (c.pixels = Renderer::kRays; c.pixels >= kLeastPixels; c.pixels /= 2) {
      c.resident = 0;
      if (fits(c)) return found = c, true;
      if (!on_the_disk(*f_.scene)) continue;
      c.resident = fewest;
      if (!fits(c)) continue;
      int64_t low = fewest, high = views_ - 1;
      while (low < high) {
        c.resident = (low + high + 1) / 2;
        (fits(c) ? low : high) = fits(c) ? c.resident : c.resident - 1;
      }
      c.resident = std::max(low, fewest);
      return found = c, true;
    }
    return false;
  }

  const MemoryFacts& f_;
  const MemoryChoice& wanted_;
  int64_t budget_, views_;
};

std::vector<std::string> differences(const MemoryFacts& f, const MemoryChoice& from, const MemoryChoice& to) {
  std::vector<std::string> list;
  if (from.ceilings && !to.ceilings) list.emplace_back("no ceilings of stages");
  if (to.resident > 0)
    list.push_back(fmt::format("{} of {} pictures at a time", to.resident, f.scene->train.size()));
  if (to.config.batch_samples < from.config.batch_samples)
    list.push_back(fmt::format("batch {} instead of {}", to.config.batch_samples, from.config.batch_samples));
  if (to.config.log2_table < from.config.log2_table)
    list.push_back(fmt::format("log2_table {} instead of {}", to.config.log2_table, from.config.log2_table));
  return list;
}

/// What a smaller minimum would take: the largest shares, and who sets them.
std::string remedies(const MemoryAccount& least, const MemoryFacts& f) {
  std::string text;
  const auto add = [&](const std::string& owner, const std::string& remedy) {
    if (least.of(owner) * 10 > least.total()) text += (text.empty() ? "" : ", ") + remedy;
  };
  add("pictures", "--downscale 2");
  if (f.trainer > 0) return (text.empty() ? "" : text + ", or ") + f.remedy;
  add("grid", "a smaller \"grid\" in the config");
  add("batch", "a smaller \"max_samples_per_ray\" or \"width\"");
  add("table", f.resumed > 0 ? "a new run with a smaller \"log2_table\"" : "fewer \"levels\"");
  add("scratch", f.resumed > 0 ? "a new run" : "--no-eval");
  return text.empty() ? "a smaller \"grid\" or fewer \"levels\" in the config" : text;
}

}  // namespace

MemoryPlan fit_memory(const MemoryFacts& facts, const MemoryChoice& wanted, const MemoryBudget& budget) {
  const Fitting fitting(facts, wanted, budget.bytes);
  MemoryPlan plan;
  if (!fitting.fit(plan.choice)) {
    const MemoryAccount least = memory_account(facts, fitting.least());
    throw std::runtime_error(
        fmt::format("{} {} is too little: this run takes {} at least, with {}; to lower that: {}",
                    budget.whose, bytes_text(budget.bytes), bytes_text(least.total()),
                    fmt::join(differences(facts, wanted, fitting.least()), ", "), remedies(least, facts)));
  }
  plan.account = memory_account(facts, plan.choice);
  plan.smaller = differences(facts, wanted, plan.choice);
  return plan;
}

MemoryBudget memory_budget(std::optional<int64_t> given, int64_t program) {
  if (given) return {*given, "--memory"};
  const int64_t free = available_memory();
  // Where the system says nothing, nothing is made smaller.
  return {free > 0 ? free + program : std::numeric_limits<int64_t>::max() / 4, "what is free"};
}

std::string account_text(const MemoryAccount& account, const MemoryBudget& budget) {
  Table table({{"memory"}, {"bytes", Column::Kind::right}, {"for"}, {"", Column::Kind::bar}});
  for (const auto& s : account.shares)
    table.add({s.owner, bytes_text(s.bytes), s.what, Cell::bar(double(s.bytes))});
  table.add({"sum", bytes_text(account.total()),
             fmt::format("at most, of {} ({})", bytes_text(budget.bytes), budget.whose), Cell::bar(0)});
  return table.text();
}

std::string peaks_text(const MemoryAccount& account) {
  Table table({{"memory"}, {"planned", Column::Kind::right}, {"at most", Column::Kind::right}});
  const auto owned = memory_by_owner();
  for (const auto& s : account.shares) {
    const auto at = owned.find(s.owner);
    table.add({s.owner, bytes_text(s.bytes), at == owned.end() ? "" : bytes_text(at->second.peak)});
  }
  table.add({"sum, by the system", bytes_text(account.total()), bytes_text(peak_memory())});
  return table.text();
}

nlohmann::json memory_json(const MemoryPlan& plan, const MemoryBudget& budget) {
  nlohmann::json owners = nlohmann::json::object();
  const auto owned = memory_by_owner();
  for (const auto& s : plan.account.shares) {
    const auto at = owned.find(s.owner);
    owners[s.owner] = {{"planned", s.bytes}};
    if (at != owned.end()) owners[s.owner]["peak"] = at->second.peak;
  }
  return {{"budget", budget.bytes},
          {"budget_from", budget.whose},
          {"planned", plan.account.total()},
          {"peak", peak_memory()},
          {"owners", owners},
          {"smaller", plan.smaller}};
}

}  // namespace klab
