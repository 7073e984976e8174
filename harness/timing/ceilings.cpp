#include "harness/timing/ceilings.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/timing/statistics.h"
#include "harness/timing/unit_ceilings.h"

namespace klab {

const char* name_of(CeilingKind kind) {
  switch (kind) {
    case CeilingKind::fma_f32:
      return "fma f32";
    case CeilingKind::fma_f64:
      return "fma f64";
    case CeilingKind::transcendental:
      return "transcendental f32";
    case CeilingKind::division:
      return "division f32";
    case CeilingKind::root:
      return "root f32";
    case CeilingKind::read:
      return "read";
    case CeilingKind::copy:
      return "copy";
    case CeilingKind::copy_2_to_1:
      return "copy 2:1";
    case CeilingKind::update:
      return "update";
    case CeilingKind::gather4:
      return "gather 4 B";
    case CeilingKind::gather8:
      return "gather 8 B";
  }
  return "?";
}

const char* unit_of(CeilingKind kind) {
  switch (kind) {
    case CeilingKind::fma_f32:
    case CeilingKind::fma_f64:
      return "FLOP/s";
    case CeilingKind::transcendental:
    case CeilingKind::division:
    case CeilingKind::root:
      return "values/s";
    default:
      return "B/s";
  }
}

const char* unit_of(const std::string& ceiling) {
  for (const CeilingKind kind : kArithmeticCeilings)
    if (ceiling == name_of(kind)) return unit_of(kind);
  if (is_unit_ceiling(ceiling)) return ceiling.ends_with("int8") ? "OP/s" : unit_of(CeilingKind::fma_f32);
  if (ceiling.starts_with("multiply-adds")) return unit_of(CeilingKind::fma_f32);  // of a GPU
  return unit_of(CeilingKind::read);
}

std::string giga_unit_of(const std::string& ceiling) { return std::string("G") + unit_of(ceiling); }

namespace {

constexpr int kMemory = 4;
constexpr int64_t kMemorySet = int64_t(128) << 20;  // bytes, at most, whatever the caches hold
constexpr int64_t kValuesBytes = 8192;  // of one thread, arguments and values: in any first-level cache

bool makes_values(CeilingKind kind) {
  return kind == CeilingKind::transcendental || kind == CeilingKind::division || kind == CeilingKind::root;
}

/// What that many threads have together of a cache; 0 when there is none of that level.
int64_t capacity(const Machine& machine, int level, int threads) {
  for (const CacheLevel& c : machine.caches)
    if (c.level == level) return c.bytes * ((threads + c.shared_by - 1) / c.shared_by);
  return 0;
}

/// A size that sits well inside a level and well outside the one before.
int64_t working_set(const Machine& machine, int level, int threads) {
  // Larger caches are not swept: the sampler flushes them (kMemory), or uses a part of them.
  if (level == kMemory) return kMemorySet;
  const int64_t all = capacity(machine, level, threads);
  return level == 1 ? all / 4 * 3 : std::min(all / 2, kMemorySet);
}

int64_t power_of_two_below(int64_t n) {
  int64_t p = 1;
  while (2 * p <= n) p *= 2;
  return p;
}

Ceiling make(const Machine& machine, CeilingKind kind, int level, int threads) {
  Ceiling c{.kind = kind, .level = level, .threads = threads};
  if (level > 0) c.working_set = working_set(machine, level, threads);
  if (makes_values(kind)) c.working_set = threads * kValuesBytes;
  // A table is shared by all threads, so private caches hold it once each.
  if (kind == CeilingKind::gather4 || kind == CeilingKind::gather8)
    c.working_set = power_of_two_below(level == kMemory ? c.working_set : working_set(machine, level, 1));
  return c;
}

std::vector<Ceiling> plan(const Machine& machine, bool quick) {
  std::vector<Ceiling> list;
  for (int threads = 1; threads <= machine.threads; ++threads) {
    const bool landmark = threads == 1 || threads == machine.threads;
    const bool power_of_two = (threads & (threads - 1)) == 0;
    if (!landmark && (quick || (threads > 4 && !power_of_two))) continue;
    for (const CeilingKind kind : kArithmeticCeilings) list.push_back(make(machine, kind, 0, threads));
    for (int level = 1; level <= kMemory; ++level) {
      if (level != kMemory && cache_bytes(machine, level) == 0) continue;
      for (const CeilingKind kind : kMemoryCeilings) list.push_back(make(machine, kind, level, threads));
    }
  }
  return list;
}

Ceilings measure(bool quick) {
  Ceilings result;
  // A processor that was idle takes a moment to reach its clock.
  CeilingSampler(make(this_machine(), CeilingKind::fma_f32, 0, this_machine().threads)).sample(0.1);
  for (Ceiling c : plan(this_machine(), quick)) {
    CeilingSampler sampler(c);
    std::vector<double> samples;
    for (int i = 0; i < (quick ? 5 : 9); ++i) samples.push_back(sampler.sample(quick ? 0.004 : 0.01));
    c.per_second = ceiling_of(c.level, samples);
    c.method = sampler.method();
    if (c.per_second > 0) result.list.push_back(c);
  }
  for (const int threads : {this_machine().threads, 1})
    for (const Factors factors : {Factors::bf16, Factors::int8})
      for (const ProductUnit unit : {ProductUnit::dot, ProductUnit::tiles})
        if (const UnitCeiling c = unit_ceiling(factors, unit, threads); threads == 1 && !c.missing.empty())
          result.not_measured.push_back(name_of(c) + ": " + c.missing);
  return result;
}

}  // namespace

double ceiling_of(int level, std::span<const double> per_second) {
  const double middle = median(per_second);
  return level == 0 ? middle : *std::ranges::max_element(per_second);
}

std::string level_name(int level) {
  return level == 0 ? "" : level == kMemory ? "memory" : fmt::format("L{}", level);
}

std::string name_of(const Ceiling& c) {
  if (c.level == 0) return name_of(c.kind);
  int nearest = c.level;
  for (const TableShare& t : c.tables)
    nearest = std::min(nearest, level_of(this_machine(), int64_t(t.bytes), Cache::hot, 1));
  return fmt::format("{} {}{}", name_of(c.kind), nearest < c.level ? level_name(nearest) + " to " : "",
                     level_name(c.level));
}

const Ceiling* Ceilings::find(CeilingKind kind, int level, int threads) const {
  for (const Ceiling& c : list)
    if (c.kind == kind && c.level == level && c.threads == threads) return &c;
  return nullptr;
}

const Ceilings& ceilings(const CeilingOptions& options) {
  static Ceilings known;
  static bool quick = true;
  if (known.list.empty() || (quick && !options.quick)) {
    known = measure(options.quick);
    quick = options.quick;
  }
  return known;
}

nlohmann::json to_json(const Ceilings& ceilings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Ceiling& c : ceilings.list) {
    list.push_back({{"name", name_of(c)},
                    {"threads", c.threads},
                    {"working_set_bytes", c.working_set},
                    {"unit", unit_of(c.kind)},
                    {"per_second", c.per_second},
                    {"method", c.method}});
  }
  if (!list.empty())
    for (const UnitCeiling& c : known_unit_ceilings())
      if (c.per_second > 0)
        list.push_back({{"name", name_of(c)},
                        {"threads", c.threads},
                        {"working_set_bytes", 0},
                        {"unit", unit_of(name_of(c))},
                        {"per_second", c.per_second},
                        {"method", c.method}});
  return {{"measured", list}, {"not_measured", ceilings.not_measured}};
}

int level_of(const Machine& machine, int64_t footprint, Cache cache, int threads) {
  if (cache == Cache::cold) return kMemory;
  for (const CacheLevel& c : machine.caches)
    if (footprint <= capacity(machine, c.level, threads)) return c.level;
  return kMemory;
}

double work_of(CeilingKind kind, const Cost& cost) {
  switch (kind) {
    case CeilingKind::fma_f32:
    case CeilingKind::fma_f64:
      return cost.flops / cost.flops_per_lane;
    case CeilingKind::transcendental:
      return cost.transcendentals;
    case CeilingKind::division:
      return cost.divisions;
    case CeilingKind::root:
      return cost.roots;
    case CeilingKind::gather4:
    case CeilingKind::gather8:
      return cost.gathers * cost.entry_bytes;
    case CeilingKind::read:
    case CeilingKind::copy:
    case CeilingKind::copy_2_to_1:
    case CeilingKind::update:
      return std::max(0.0, cost.bytes - cost.table_bytes);
  }
  return 0;
}

namespace {

/// Tables as large as the op's, in turn: a smaller part of a cache is faster than the half that represents the level,
/// the more so where others use that cache, too.
Ceiling random_reads(const Machine& machine, const Cost& cost, int threads) {
  constexpr int64_t kSmallest = 4096;
  Ceiling c = make(machine, cost.entry_bytes > 4 ? CeilingKind::gather8 : CeilingKind::gather4, 1, threads);
  c.working_set = kSmallest;
  for (const TableShare& t : cost.tables) {
    const int64_t bytes = std::max(int64_t(t.bytes), kSmallest);
    c.tables.push_back({double(power_of_two_below(bytes)), t.share});
    c.working_set = std::max(c.working_set, power_of_two_below(bytes));
    c.level = std::max(c.level, level_of(machine, bytes, Cache::hot, 1));
  }
  return c;
}

CeilingKind traffic_of(Traffic traffic, double read, double written) {
  if (traffic == Traffic::read) return CeilingKind::read;
  if (traffic == Traffic::update) return CeilingKind::update;
  return read >= 1.5 * written ? CeilingKind::copy_2_to_1 : CeilingKind::copy;
}

}  // namespace

std::vector<Roof> roofs_of(const LabOp& op, const BenchShape& shape, int threads) {
  if (op.traffic == Traffic::unknown) return {};
  const Machine& machine = this_machine();
  const Cost cost = op.op.cost(shape.shape);
  std::vector<Roof> roofs;
  const auto add = [&](const Ceiling& ceiling) {
    if (const double work = work_of(ceiling.kind, cost); work > 0) roofs.push_back({ceiling, work});
  };
  for (const CeilingKind kind :
       {CeilingKind::fma_f32, CeilingKind::transcendental, CeilingKind::division, CeilingKind::root})
    add(make(machine, kind, 0, threads));
  if (cost.gathers > 0) add(random_reads(machine, cost, threads));
  int64_t footprint = 0, read = 0, written = 0;
  for (const TensorSpec& t : op.op.tensors(shape.shape)) {
    const int64_t bytes = volume(t.dims) * size_of(t.element);
    footprint += bytes;
    if (t.role != Role::output) read += bytes;
    if (t.role != Role::input) written += bytes;
  }
  if (cost.table_bytes > 0) read = written;  // what is left without the tables goes from here to there
  add(make(machine, traffic_of(op.traffic, double(read), double(written)),
           level_of(machine, footprint, shape.cache, threads), threads));
  return roofs;
}

bool within_caches(const Machine& machine, const Ceiling& c) {
  if (c.level != kMemory || !c.tables.empty()) return false;
  const int last = machine.caches.empty() ? 0 : machine.caches.back().level;
  return c.working_set < 2 * capacity(machine, last, c.threads);
}

double operations_per_lane(const Numerics& numerics, const Cost& cost) {
  const int bits = bits_of(numerics.unit);
  return bits < 32 && cost.flops_per_lane == 1 ? 32.0 / bits : cost.flops_per_lane;
}

double attainable(double flops_peak, double intensity, double bytes_per_second) {
  return std::min(flops_peak, intensity * bytes_per_second);
}

}  // namespace klab
