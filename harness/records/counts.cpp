#include "harness/records/counts.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/check/crash_guard.h"
#include "harness/simt/modules.h"
#include "harness/simt/occupancy.h"
#include "harness/simt/session.h"
#include "harness/timing/bench_inputs.h"

namespace klab {
namespace {

constexpr double kWork = 1e6;  // operations or bytes of a call that is counted

void add_launches(const CountedRun& run, std::map<std::string, int64_t>& counts) {
  int64_t barriers = 0, shared_bytes = 0;
  for (const simt::LaunchRecord& l : run.launches) {
    const int64_t blocks = l.times * l.grid[0] * l.grid[1] * l.grid[2];
    counts["launches"] += l.times;
    counts["threads"] += blocks * l.block[0] * l.block[1] * l.block[2];
    counts["thread_accesses"] += l.times * l.thread_accesses;
    barriers += blocks * l.barriers;
    shared_bytes = std::max(shared_bytes, int64_t(l.static_shared + l.dynamic_shared));
  }
  if (barriers > 0) counts["barriers"] = barriers;
  if (shared_bytes > 0) counts["shared_bytes_per_block"] = shared_bytes;
}

}  // namespace

std::string place_in_tree(const std::string& file) {
  for (const char* room : {"kernels/", "tests/", "harness/", "reference/"})
    if (const size_t at = file.rfind(room); at != std::string::npos) return file.substr(at);
  return file;
}

CountedRun count_run(const LabOp& op, const Variant& variant, ShapeView shape, uint64_t seed,
                     const simt::CompiledCode* compiled, int threads) {
  CountedRun run{.variant = variant.id, .shape = {shape.begin(), shape.end()}, .seed = seed};
  if (!variant.host || !simt::load_traced_variants())
    throw std::invalid_argument(variant.id + " was not compiled for the host, so nothing can be counted");
  if (!op.op.valid(shape))
    throw std::invalid_argument(
        fmt::format("{} is no legal shape of {}", shape_text(op.op, shape), op.op.name));
  if (const std::string reason = variant.supported(shape, host_of(variant)); !reason.empty())
    throw std::invalid_argument(fmt::format("{} cannot be counted here: {}", variant.id, reason));
  run.compulsory = op.op.cost(shape);
  const BenchInputs inputs(op, shape, Cache::hot, seed);
  const auto call = variant.bind(shape, inputs.pointers(0));
  CrashGuard guard;
  guard.doing("counting " + variant.id + " at " + shape_text(op.op, shape));
  simt::Session session({.traced = true, .seed = seed, .compiled = compiled, .threads = threads});
  if (compiled != nullptr) run.compiled_by = compiled->made_by;
  try {
    call();
  } catch (const simt::Error& e) {
    run.error = e.what();
  }
  run.findings = session.findings();
  run.launches = launches_together(session.profile().launches);
  run.lines = counts_by_line(session.profile());
  const simt::Bus& bus = session.profile().bus;
  run.copied = bus.bytes();
  run.staged = variant.pinned ? 0 : bus.bytes();
  run.bus_path = bus.path();
  for (const LineCounts& l : run.lines) run.moved += 32.0 * double(l.counts.sectors);
  return run;
}

std::map<std::string, int64_t> counts_of(const CountedRun& run) {
  std::map<std::string, int64_t> counts;
  const auto global = [&](const std::string& name, auto wanted) {
    const simt::Counts sum =
        sum_of(run, [&](const LineCounts& l) { return l.space == simt::Space::global && wanted(l); });
    if (sum.requests == 0) return;
    counts[name + "_requests"] = sum.requests;
    counts[name + "_sectors"] = sum.sectors;
    if (name == "global_atomic") counts[name + "_collisions"] = sum.collisions;
  };
  global("global_load", [](const LineCounts& l) { return !l.write && !l.atomic; });
  global("global_store", [](const LineCounts& l) { return l.write && !l.atomic; });
  global("global_atomic", [](const LineCounts& l) { return l.atomic; });
  // The part of the atomics whose old value nothing uses.
  global("global_reduction", [](const LineCounts& l) { return is_reduction(l); });
  const simt::Counts shared = sum_of(run, [](const LineCounts& l) { return l.space == simt::Space::shared; });
  if (shared.requests > 0) {
    counts["shared_requests"] = shared.requests;
    counts["shared_wavefronts"] = shared.wavefronts;
    counts["bank_conflicts"] = shared.conflicts();
  }
  add_launches(run, counts);
  if (run.copied == 0) return counts;
  counts["copied_bytes"] = run.copied;
  counts["staged_bytes"] = run.staged;
  counts["bus_path_bytes"] = run.bus_path;
  return counts;
}

std::vector<int64_t> shape_for_counting(const LabOp& op) {
  if (!op.counted_tour.empty()) return op.counted_tour;
  if (op.bench.empty())
    throw std::invalid_argument(op.op.name + " has no shape to count at; give one with --shape");
  auto first = std::ranges::find_if(op.bench, &BenchShape::tour);
  if (first == op.bench.end()) first = op.bench.begin();
  std::vector<int64_t> shape = first->shape;
  while (work(op.op, shape) > kWork) {
    auto halved = shape;
    *std::ranges::max_element(halved) /= 2;
    if (halved == shape || !op.op.valid(halved) || !(work(op.op, halved) > 0)) break;
    shape = halved;
  }
  return shape;
}

std::vector<Row> counted_rows(const LabOp& op, std::span<const Variant* const> variants) {
  std::vector<Row> rows;
  if (this_host().gpu ||
      std::ranges::none_of(variants, [](const Variant* v) { return v->backend == "cuda"; }))
    return rows;
  const std::vector<int64_t> shape = shape_for_counting(op);
  const Machine& machine = this_machine();
  const Cost cost = op.op.cost(shape);
  for (const Variant* v : variants) {
    if (v->backend != "cuda") continue;
    Row row{.fingerprint = fingerprint(machine),
            .commit = machine.commit + (machine.dirty ? "-dirty" : ""),
            .lab = lab_of(op.op.name)->id,
            .op = op.op.name,
            .variant = v->id,
            .backend = v->backend,
            .instruction_set = machine.instruction_set,
            .size = "counted",
            .shape = shape_text(op.op, shape),
            .cache = "hot",
            .threads = 1,
            .bytes = cost.bytes,
            .flops = cost.flops};
    try {
      const CountedRun run = count_run(op, *v, shape, 1);
      if (!run.findings.empty()) {
        row.wrong = run.findings.front().describe();
      } else if (!run.error.empty()) {
        row.wrong = run.error;
      } else {
        row.skipped = "no GPU here: counted, not timed";
        row.counts = counts_of(run);
        row.needs = needs_of(v->id, run.launches);
      }
    } catch (const std::invalid_argument& e) {
      row.skipped = e.what();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void append_counts(Recording& run, const std::vector<std::string>& ids) {
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops) {
      std::vector<const Variant*> list;
      for (const Variant* v : variants_of(op.op.name, "cuda"))
        if (std::ranges::find(ids, v->id) != ids.end()) list.push_back(v);
      for (Row& row : counted_rows(op, list)) run.rows.push_back(std::move(row));
    }
}

}  // namespace klab
