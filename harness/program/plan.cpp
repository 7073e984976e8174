#include "harness/program/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/core/optional_dims.h"
#include "harness/core/select.h"
#include "harness/core/timing_question.h"
#include "harness/records/input.h"
#include "harness/records/json_refused.h"
#include "harness/records/refused.h"
#include "harness/timing/ceilings.h"

namespace klab {
namespace {

using nlohmann::json;

/// The calls of each op, in the order of the ops.
std::vector<std::vector<PlannedCall>> by_op(std::span<const PlannedCall> calls) {
  std::vector<std::vector<PlannedCall>> groups;
  for (const PlannedCall& c : calls) {
    const auto same = [&](const auto& group) { return group.front().op == c.op; };
    const auto at = std::ranges::find_if(groups, same);
    at == groups.end() ? groups.push_back({c}) : at->push_back(c);
  }
  return groups;
}

/// Why a variant cannot do these calls of its op, and what to do instead; empty when it can.
std::string refusal(const Variant& v, std::span<const PlannedCall> calls, const std::string& backend) {
  if (v.backend != backend && backend != "cpu")
    return fmt::format(
        "{} is written for the processor, and this run is one of CUDA rungs; take a rung of {}.cuda "
        "(`klab list {}`)",
        v.id, v.op, v.op);
  if (v.backend != backend)
    return fmt::format(
        "{} is written for {}, and programs made of ops run on the processor only; take a rung of {}.cpu "
        "(`klab list {}`)",
        v.id, v.backend == "cuda" ? "CUDA" : v.backend, v.op, v.op);
  const LabOp& op = *find_op(v.op);
  for (const PlannedCall& c : calls) {
    for (const std::string& tensor : v.needs)
      if (!is_dim(op.op, tensor) && std::ranges::find(c.given, tensor) == c.given.end())
        return fmt::format(
            "{} reads the tensor {}, which this program does not have; take a rung of {} that does without "
            "(`klab explain {}` says what each reads)",
            v.id, tensor, v.op, v.op);
    if (!op.op.valid(c.shape))
      return fmt::format("{} at {}: is no shape of this operation", v.op, shape_text(op.op, c.shape));
    if (const std::string why = supported_for_timing(v, c.shape, host_of(v)); !why.empty())
      return fmt::format(
          "{} cannot run at {} here: {}; take another rung of {}, or leave the op out of the plan to have "
          "the "
          "fastest one taken",
          v.id, shape_text(op.op, c.shape), why, v.op);
  }
  return "";
}

std::vector<PlannedProgram>& programs() {
  static std::vector<PlannedProgram> list;
  return list;
}

/// The registered program that makes these calls; else one that is made of their ops and nothing else.
PlannedProgram program_of(std::span<const PlannedCall> calls) {
  const auto of = [](const PlannedProgram& p, const std::string& op) {
    return std::ranges::find(p.ops, op) != p.ops.end();
  };
  for (const PlannedProgram& p : programs())
    if (std::ranges::all_of(calls, [&](const PlannedCall& c) { return of(p, c.op); })) return p;
  PlannedProgram own = {.name = "this program", .ops = {}, .fused = "", .parts = {}};
  for (const PlannedCall& c : calls)
    if (!of(own, c.op)) own.ops.push_back(c.op);
  return own;
}

const Variant& naive(const std::string& op, const std::string& backend) {
  for (const Variant* v : variants_of(op, backend))
    if (!v->peer) return *v;
  throw std::runtime_error("no variant of " + op + " for " + (backend == "cpu" ? "the processor" : "CUDA") +
                           " is built in");
}

/// Rungs are timed where their times say something: the host executor's do not.
bool timed_on(const std::string& backend) {
  return backend == "cpu" || (backend == "cuda" && this_host().gpu);
}

/// What the best one is chosen from.
std::vector<const Variant*> candidates(std::span<const PlannedCall> calls, const std::string& backend,
                                       Unit precision = Unit::f32) {
  const std::string& op = calls.front().op;
  std::vector<const Variant*> list;
  std::string reasons;
  for (const Variant* v : variants_of(op, backend)) {
    if (v->peer || (v->numerics.unit != Unit::f32 && v->numerics.unit != precision)) continue;
    // On a GPU atomics are the rule. On the executor nothing is timed: the trunk says what is best, but for the precision that was
    // asked for.
    const bool asked_for = precision != Unit::f32 && v->numerics.unit == precision;
    if (backend == "cpu" ? !v->numerics.deterministic : !timed_on(backend) && !v->trunk() && !asked_for)
      continue;
    if (const std::string why = refusal(*v, calls, backend); why.empty())
      list.push_back(v);
    else
      reasons += "\n  " + why;
  }
  if (list.empty()) throw std::runtime_error(fmt::format("no variant of {} can be used:{}", op, reasons));
  return list;
}

/// The last rung of the trunk, or else of all, as far as they can do these calls.
const Variant& last_rung(std::span<const PlannedCall> calls, const std::string& backend) {
  const std::vector<const Variant*> list = candidates(calls, backend);
  const auto at = std::ranges::find_if(list.rbegin(), list.rend(), &Variant::trunk);
  return at == list.rend() ? *list.back() : **at;
}

/// Every op of the program that is fixed, checked; the first of the message is what plan it is.
std::map<std::string, const Variant*> resolve(const VariantIds& variants, const std::string& where,
                                              std::span<const PlannedCall> calls,
                                              const std::string& backend) {
  const PlannedProgram program = program_of(calls);
  std::map<std::string, const Variant*> chosen;
  std::vector<std::string> problems;
  for (const auto& [op, id] : variants) {
    if (op == program.fused && id.empty()) continue;  // not to be called
    std::vector<PlannedCall> of_op;
    for (const PlannedCall& c : calls)
      if (c.op == op) of_op.push_back(c);
    if (of_op.empty() && std::ranges::find(program.ops, op) == program.ops.end()) {
      problems.push_back(fmt::format("{}\n  the ops of {} are {}",
                                     not_found_text("op of " + program.name, op, program.ops), program.name,
                                     fmt::join(program.ops, ", ")));
      continue;
    }
    const Variant* v = find_variant(id);
    if (v == nullptr || v->op != op) {
      std::vector<std::string> ids;
      for (const Variant* other : variants_of(op)) ids.push_back(other->id);
      problems.push_back(v == nullptr
                             ? not_found_text("variant of " + op, id, ids) +
                                   fmt::format(" (see `klab list {}`)", op)
                             : fmt::format("{} is no variant of {} (see `klab list {}`)", id, op, op));
      continue;
    }
    if (const std::string why = refusal(*v, of_op, backend); !why.empty())
      problems.push_back(why);
    else if (!of_op.empty())
      chosen[op] = v;
  }
  if (problems.size() == 1) throw std::runtime_error(fmt::format("plan {}: {}", where, problems.front()));
  if (!problems.empty())
    throw std::runtime_error(fmt::format("plan {}:\n  {}", where, fmt::join(problems, "\n  ")));
  for (const auto& group : by_op(calls))
    if (!chosen.contains(group.front().op)) candidates(group, backend);  // throws when there is none
  return chosen;
}

/// Whether the op that does several in one is to be called in their place: where it is named; else not where one of them
/// is, whose rung somebody wants to see run; else where it takes less time than they do, as far as times are known.
bool takes_fused(const PlannedProgram& program, const Plan& plan, const VariantIds& variants) {
  if (const auto at = variants.find(program.fused); at != variants.end()) return !at->second.empty();
  double parts = 0;
  for (const std::string& op : program.parts) {
    if (variants.contains(op)) return false;
    const double seconds = plan.at(op).seconds;
    if (seconds <= 0) return true;
    parts += seconds;
  }
  return plan.at(program.fused).seconds < parts;
}

std::string plan_text(const std::string& file) {
  try {
    return read_input(file);
  } catch (const std::runtime_error& e) {
    // A name, or a file: the message of read_input() begins with it.
    throw Refused("plan " + file, "plan", std::string(e.what()).substr(file.size() + 2),
                  "name a file, or one of \"best\", \"last\" and \"naive\"");
  }
}

}  // namespace

PlannedProgramRegistrar::PlannedProgramRegistrar(PlannedProgram program) {
  programs().push_back(std::move(program));
}

VariantIds plan_from_json(const std::string& text, const std::string& where, const std::string& fused) {
  const char* remedy = "write an object {\"op\": \"variant id\"}, as klab train writes it into plan.json";
  const json document = json_or_refuse(text, where, remedy);
  if (!document.is_object()) throw Refused(where, "JSON", "is JSON, but no object", remedy);
  VariantIds ids;
  for (const auto& [op, value] : document.items()) {
    if (!fused.empty() && op == fused && value.is_null()) {
      ids[op] = "";
      continue;
    }
    if (!value.is_string())
      throw Refused(where, op.empty() ? "\"\"" : excerpt(op),
                    fmt::format("\"{}\": {} is no variant id in quotes", excerpt(op), excerpt(value.dump())),
                    "`klab list OP` names them");
    ids[op] = value.get<std::string>();
  }
  return ids;
}

VariantIds plan_ids(const std::string& name, std::span<const PlannedCall> calls, const std::string& backend) {
  const PlannedProgram program = program_of(calls);
  if (name != "best" && name != "last" && name != "naive")
    return plan_from_json(plan_text(name), "plan " + name, program.fused);
  VariantIds ids;
  if (name == "naive")
    for (const PlannedCall& c : calls)
      if (c.op != program.fused) ids[c.op] = naive(c.op, backend).id;
  if (name == "last")
    for (const auto& group : by_op(calls)) ids[group.front().op] = last_rung(group, backend).id;
  return ids;
}

void Plan::require(const VariantIds& variants, const std::string& where, std::span<const PlannedCall> calls,
                   const std::string& backend) {
  resolve(variants, where, calls, backend);
}

std::string Plan::unavailable(std::span<const PlannedCall> calls, Unit precision,
                              const std::string& backend) {
  std::string text;
  if (precision == Unit::f32) return text;
  for (const auto& group : by_op(calls)) {
    std::string why;
    bool possible = false;
    for (const Variant* v : variants_of(group.front().op, backend)) {
      if (v->peer || v->numerics.unit != precision) continue;
      const std::string reason = refusal(*v, group, backend);
      possible = possible || reason.empty();
      if (why.empty()) why = reason;
    }
    if (!possible && !why.empty()) text += (text.empty() ? "" : "\n") + why;
  }
  return text;
}

Plan Plan::named(const std::string& name, std::span<const PlannedCall> calls, CallTimes& times,
                 const std::string& backend, Unit precision) {
  return fixed(plan_ids(name, calls, backend), name, calls, times, backend, precision);
}

Plan Plan::fixed(const VariantIds& variants, const std::string& where, std::span<const PlannedCall> calls,
                 CallTimes& times, const std::string& backend, Unit precision) {
  const auto chosen = resolve(variants, where, calls, backend);
  const PlannedProgram program = program_of(calls);
  Plan plan;
  plan.order_ = program.ops;
  for (const auto& group : by_op(calls)) {
    const std::string& op = group.front().op;
    if (const auto at = chosen.find(op); at != chosen.end()) {
      const bool eight = bits_of(at->second->numerics.unit) == 8;
      plan.choices_[op] = {at->second, "by the plan " + where + (eight ? ", in eight bits" : ""), 0};
    } else if (const auto list = candidates(group, backend, precision); !timed_on(backend)) {
      plan.choices_[op] = {list.back(), fmt::format("the last of {} (nothing is timed)", list.size()), 0};
    } else {
      const auto fastest = times.fastest(group, list);
      plan.choices_[op] = {fastest.variant, fastest.why, fastest.seconds};
    }
  }
  if (plan.contains(program.fused) && !takes_fused(program, plan, variants))
    plan.choices_.erase(program.fused);
  return plan;
}

const Plan::Choice& Plan::at(const std::string& op) const {
  const auto found = choices_.find(op);
  if (found == choices_.end()) throw std::logic_error(op + " is called, and was not planned");
  return found->second;
}

Cost Plan::cost_of(const std::string& op, Cost cost) const {
  // TDPBF16PS does 16,384 operations in 16 cycles, where two instructions of 16 lanes and pairs do 128 in one; bytes alike.
  constexpr double kTilesOverVectors = 8;
  const Variant& v = *at(op).variant;
  cost.flops_per_lane = operations_per_lane(v.numerics, cost);
  if (v.id.find("amx") != std::string::npos) cost.flops_per_lane *= kTilesOverVectors;
  return cost;
}

VariantIds Plan::ids() const {
  VariantIds ids;
  for (const auto& [op, choice] : choices_) ids[op] = choice.variant->id;
  return ids;
}

std::string Plan::text() const {
  std::vector<std::string> order;
  for (const std::string& op : order_)
    if (contains(op)) order.push_back(op);
  for (const auto& [op, choice] : choices_)
    if (std::ranges::find(order, op) == order.end()) order.push_back(op);
  size_t op_width = 0, rung_width = 0;
  for (const std::string& op : order) {
    op_width = std::max(op_width, op.size());
    rung_width = std::max(rung_width, at(op).variant->id.size() - op.size() - 1);
  }
  std::string text;
  for (const std::string& op : order) {
    const Choice& c = at(op);
    text += fmt::format("{:10}{:{}}  {:{}}  {}\n", text.empty() ? "plan" : "", op, op_width,
                        c.variant->id.substr(op.size() + 1), rung_width, c.why);
  }
  return text;
}

std::string to_json_text(const Plan& plan) { return json(plan.ids()).dump(2) + "\n"; }

}  // namespace klab
