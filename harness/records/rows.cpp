#include "harness/records/rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/core/optional_dims.h"
#include "harness/records/bound.h"
#include "harness/records/json_schema.h"
#include "harness/simt/gpus.h"
#include "harness/simt/occupancy.h"
#include "harness/timing/peer_libraries.h"
#include "harness/timing/unit_ceilings.h"

namespace klab {
namespace {

const Series* timed(const Ladder& ladder, const std::string& variant) {
  for (const Series& s : ladder.series)
    if (s.variant == variant && !s.seconds.empty()) return &s;
  return nullptr;
}

/// Returns the fastest peer: of those whose library knows this processor, or of all where none does.
const Series* best_peer(const Ladder& ladder) {
  const Series* best = nullptr;
  bool best_held = false;
  for (const Series& s : ladder.series) {
    const Variant* v = find_variant(s.variant);
    if (v == nullptr || !v->peer || s.seconds.empty()) continue;
    const bool held = !peer_library(*v).held_back.empty();
    if (best != nullptr && (held != best_held ? held : median(s.seconds) >= median(best->seconds))) continue;
    best = &s;
    best_held = held;
  }
  return best;
}

/// Returns how many times faster `row` is than `other`; empty without `other`, and for a variant against
/// itself.
std::optional<Estimate> speedup(const Series* other, const Series& row) {
  if (other == nullptr || other == &row) return std::nullopt;
  return ratio_interval(other->seconds, row.seconds);
}

std::string shape_text(const Ladder& ladder) {
  const LabOp* op = find_op(ladder.op);
  std::string text;
  const ShapeView shape =
      op != nullptr ? shortest(op->op, ladder.shape.shape) : ShapeView(ladder.shape.shape);
  for (size_t d = 0; d < shape.size(); ++d)
    text +=
        fmt::format("{}{}={}", d ? " " : "", op && d < op->op.dims.size() ? op->op.dims[d] : "?", shape[d]);
  return text;
}

constexpr const char* kRefusedText = "below the time that its work takes:";

std::string verdict_of(const std::optional<Estimate>& over_parent, double expected) {
  if (!over_parent) return "";
  if (over_parent->low >= expected) return "held";
  return over_parent->high < expected ? "not held" : "undecided";
}

/// Returns the row's shares of the bound in each round.
std::vector<double> shares_of(const Row& row, const Bound& bound) {
  std::vector<double> shares(row.seconds.size());
  for (size_t i = 0; i < shares.size(); ++i) shares[i] = bound.seconds[i] / row.seconds[i];
  return shares;
}

/// Cuts a share above 1 to 1 where it is no error. Both times have an interval, and that of their ratio contains 1 or the margin: such a
/// rung reaches its ceiling.
void keep_within(Estimate& share) {
  share.value = std::min(share.value, 1.0);
  share.low = std::min(share.low, share.value);
}

void add_ceiling(Row& row, const Ladder& ladder, const Variant* variant) {
  if (ladder.ceiling.empty() || ladder.ceiling_per_second.size() != row.seconds.size()) return;
  Bound bound = bound_of(ladder, variant);
  const auto above = [&](const Estimate& share) { return share.low > 1 && share.value > kCeilingMargin; };
  if (is_unit_ceiling(bound.ceiling) && above(median_interval(shares_of(row, bound)))) {
    raise_unit_ceilings(ladder.threads);
    bound = bound_of(ladder, variant);
  }
  std::vector<double> shares = shares_of(row, bound), at_best(shares.size());
  const double best = *std::ranges::min_element(bound.seconds);
  for (size_t i = 0; i < at_best.size(); ++i) at_best[i] = best / row.seconds[i];
  const Estimate share = median_interval(shares);
  if (!bound.known_unit && above(share)) {
    row.ceiling = kUnknownCeiling + bound.ceiling;
    return;
  }
  row.ceiling = bound.ceiling;
  row.resources = bound.resources;
  row.ceiling_per_second = bound.per_second;
  row.of_ceiling = share;
  row.shares = std::move(shares);
  // Another program can free a shared cache for whole rounds. But no measurement may beat the ceiling's best
  // round.
  if (median_interval(at_best).low > kRefused)
    row.error = fmt::format(
        "{} {:.3g} times what {} allows: no result. Either it does not do the work that the "
        "contract states, or ceiling or cost are wrong",
        kRefusedText, share.value, row.ceiling);
  else if (above(share))
    row.error = "above its ceiling: measurement error";
  else
    keep_within(*row.of_ceiling);
}

/// Sets the ceiling from the data sheet of the GPU's model: the contract's cost, with DRAM only if L2 cannot
/// hold the tensors.
void add_gpu_ceiling(Row& row, const Ladder& ladder, const Variant& variant, const Machine& machine) {
  const simt::GpuModel* model = simt::model_of(machine.gpu);
  if (model == nullptr) return;
  CountedWork work = work_of_contract(ladder.cost, variant);
  constexpr double kSurelyBeyondL2 = 256e6;  // bytes; more than twice the L2 of any known GPU
  if (ladder.shape.cache == Cache::hot && work.dram_bytes < kSurelyBeyondL2) work.dram_bytes = 0;
  const LeastTime least = least_time(work, *model);
  if (least.seconds() <= 0) return;
  row.ceiling = fmt::format("{} of {}", least.limits.front().name, model->name);
  const bool dram = least.limits.front().name == std::string("DRAM");
  row.ceiling_per_second = (dram ? work.dram_bytes : work.flops) / least.seconds();
  for (const double s : row.seconds) row.shares.push_back(least.seconds() / s);
  row.of_ceiling = median_interval(row.shares);
  if (row.of_ceiling->low > 1) row.error = "above its ceiling: measurement error";
}

/// Removes the speedups of rejected times, and those relative to them.
void withhold_speedups(std::vector<Row>& rows) {
  const auto refused = [&](const std::string& variant) {
    return std::ranges::any_of(rows, [&](const Row& r) { return r.variant == variant && is_refused(r); });
  };
  for (Row& row : rows) {
    const Variant* v = find_variant(row.variant);
    const bool own = is_refused(row);
    if (own || (v != nullptr && refused(naive_of(*v)->id))) row.over_naive.reset();
    if (own || refused(row.peer)) {
      row.over_peer.reset();
      row.peer.clear();
    }
    if (!own && (v == nullptr || !refused(v->parent))) continue;
    row.over_parent.reset();
    row.expected.reset();
    row.verdict.clear();
  }
}

nlohmann::json as_json(const std::optional<Estimate>& e) {
  if (!e) return nullptr;
  return {{"value", e->value}, {"low", e->low}, {"high", e->high}};
}

nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

}  // namespace

bool is_refused(const Row& row) { return row.error.starts_with(kRefusedText); }

const Row* best_rung(std::span<const Row* const> rows) {
  const Row* best = nullptr;
  for (const Row* r : rows) {
    const Variant* v = find_variant(r->variant);
    if (r->seconds.empty() || !r->of_ceiling || (v != nullptr && v->peer) || is_refused(*r)) continue;
    if (best == nullptr || r->time.value < best->time.value) best = r;
  }
  return best;
}

bool no_limit_binds(std::span<const Row* const> rows) {
  const Row* best = best_rung(rows);
  return best != nullptr && !best->resources.empty() && best->of_ceiling->value < kBinds;
}

std::string latency_text(std::span<const Row* const> rows) {
  if (!no_limit_binds(rows)) return "";
  const Row& best = *best_rung(rows);
  const double percent = 100 * best.of_ceiling->value;
  return fmt::format("no throughput limit binds: latency (the fastest rung has {} % of {})",
                     percent < 1 ? fmt::format("{:.1f}", percent) : fmt::format("{:.0f}", percent),
                     best.ceiling);
}

std::vector<Row> rows_of(const Lab& lab, const Ladder& ladder, const Machine& machine) {
  std::vector<Row> rows;
  const Series* peer = best_peer(ladder);
  for (const Series& s : ladder.series) {
    const Variant* v = find_variant(s.variant);
    Row row{.fingerprint = fingerprint(machine),
            .commit = machine.commit + (machine.dirty ? "-dirty" : ""),
            .lab = lab.id,
            .op = ladder.op,
            .variant = s.variant,
            .backend = v ? v->backend : "",
            .instruction_set = machine.instruction_set,
            .size = ladder.shape.name,
            .shape = shape_text(ladder),
            .cache = ladder.cache,
            .threads = ladder.threads,
            .iterations = s.iterations,
            .skipped = s.skipped,
            .wrong = s.wrong,
            .bytes = ladder.cost.bytes,
            .flops = ladder.cost.flops,
            .needs = needs_of(s.variant, {})};
    if (!s.seconds.empty()) {
      row.seconds = s.seconds;
      row.others = std::round(ladder.others * 1e3) / 1e3;
      row.worst_error = s.worst_error;
      if (s.waited.size() == s.seconds.size())
        for (const double w : s.waited) row.waited.push_back(std::round(w * 1e3) / 1e3);
      if (ladder.core_to_core_ns.size() == s.seconds.size())
        for (const double ns : ladder.core_to_core_ns) row.core_to_core_ns.push_back(std::round(ns));
      require_times(s.seconds);
      row.time = median_interval(s.seconds);
      if (v != nullptr) {
        const Variant* naive = naive_of(*v);
        row.over_naive = speedup(naive ? timed(ladder, naive->id) : nullptr, s);
        row.over_parent = speedup(timed(ladder, v->parent), s);
        if (!v->expect.shape.empty() && v->expect.shape == ladder.shape.shape) {
          row.expected = v->expect.over_parent;
          row.verdict = verdict_of(row.over_parent, *row.expected);
        }
      }
      row.over_peer = speedup(peer, s);
      if (row.over_peer) row.peer = peer->variant;
      if (row.backend != "cuda")
        add_ceiling(row, ladder, v);
      else if (v != nullptr)
        add_gpu_ceiling(row, ladder, *v, machine);
    } else if (row.skipped.empty() && row.wrong.empty()) {
      row.skipped = "interrupted before its first round";
    }
    rows.push_back(std::move(row));
  }
  withhold_speedups(rows);
  return rows;
}

nlohmann::json to_json(const Row& r) {
  nlohmann::json j = {{"fingerprint", r.fingerprint},
                      {"commit", r.commit},
                      {"lab", r.lab},
                      {"op", r.op},
                      {"variant", r.variant},
                      {"backend", r.backend},
                      {"instruction_set", r.instruction_set},
                      {"size", r.size},
                      {"shape", r.shape},
                      {"cache", r.cache},
                      {"threads", r.threads},
                      {"session", r.session},
                      {"rounds", r.seconds.size()},
                      {"iterations", r.iterations},
                      {"skipped", text_or_null(r.skipped)},
                      {"wrong", text_or_null(r.wrong)},
                      {"bytes", r.bytes},
                      {"flops", r.flops}};
  if (r.seconds.empty()) {
    if (!r.counts.empty()) j["counts"] = r.counts;
    if (!r.needs.empty()) j["needs"] = r.needs;
    return j;
  }
  j["confidence"] = r.time.confidence;
  j["time"] = as_json(r.time);
  j["gb_per_s"] = r.bytes / r.time.value * 1e-9;
  j["gflop_per_s"] = r.flops / r.time.value * 1e-9;
  j["over_naive"] = as_json(r.over_naive);
  j["over_parent"] = as_json(r.over_parent);
  j["over_peer"] = as_json(r.over_peer);
  j["peer"] = text_or_null(r.peer);
  j["ceiling"] = text_or_null(r.ceiling);
  j["ceiling_per_second"] = r.ceiling_per_second;
  j["of_ceiling"] = as_json(r.of_ceiling);
  j["resources"] = nlohmann::json::array();
  for (const Resource& need : r.resources)
    j["resources"].push_back({{"ceiling", need.ceiling}, {"seconds", need.seconds}});
  j["error"] = text_or_null(r.error);
  j["expected"] = r.expected ? nlohmann::json(*r.expected) : nlohmann::json(nullptr);
  j["verdict"] = text_or_null(r.verdict);
  j["seconds"] = r.seconds;
  j["shares"] = r.shares;
  j["worst_error"] = r.worst_error ? nlohmann::json(*r.worst_error) : nlohmann::json(nullptr);
  j["counts"] = r.counts;
  if (!r.needs.empty()) j["needs"] = r.needs;
  j["others"] = r.others ? nlohmann::json(*r.others) : nlohmann::json(nullptr);
  j["waited"] = r.waited;
  j["core_to_core_ns"] = r.core_to_core_ns;
  return j;
}

nlohmann::json to_json(const Recording& run, const Machine& machine, const Ceilings& ceilings) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& r : run.rows) rows.push_back(to_json(r));
  return with_schema("bench", nlohmann::json{{"run", run.complete ? "complete" : "interrupted"},
                                             {"machine", to_json(machine)},
                                             {"ceilings", to_json(ceilings)},
                                             {"rows", rows}});
}

}  // namespace klab
