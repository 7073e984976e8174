#include "harness/program/run_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "harness/check/cases.h"

namespace klab {

// A program whose sizes are read between calls, or chosen from outside, cannot be recorded: they change.
void RunOps::run(const std::string& name, const Plan& plan, Profile& profile, const Body& body) {
  const Backend& backend = memory_.backend();
  Program& p = programs_[name];
  if (backend.exact || !backend.record) return call_all(p, plan, profile, body);
  std::vector<int64_t> choices = memory_.choices();
  if (VariantIds ids = plan.ids(); p.recorded_plan != ids || p.choices != choices) {
    // The first run allocates the memory that rungs need, which is impossible while they are recorded.
    p.recorded_plan = std::move(ids);
    p.choices = std::move(choices);
    p.repeat = {};
    p.untimed = 0;
    return backend.mark ? call_marked(p, plan, profile, body, 1) : call_all(p, plan, profile, body);
  }
  if (backend.mark && ++p.untimed >= timed_every_) {
    call_marked(p, plan, profile, body, p.untimed);
    p.untimed = 0;
    return;
  }
  HostCounts& counts = memory_.counts();
  if (!p.repeat) {
    Profile aside;
    const HostCounts before = counts;
    p.repeat = backend.record([&] { call_all(p, plan, aside, body); });
    if (counts.waits != before.waits) throw std::logic_error("the host waits within a program of ops");
    counts = before;
  }
  ++counts.repeated;
  if (backend.mark)
    p.repeat();  // the run timed op by op replaces it
  else
    profile.time("recorded lists", p.repeat);
}

// Puts the clock's marks between calls, in order with them, and reads them once, after the program.
void RunOps::call_marked(Program& p, const Plan& plan, Profile& profile, const Body& body, int64_t runs) {
  Profile of_the_host;
  marks_ = true;
  try {
    call_all(p, plan, of_the_host, body);
  } catch (...) {
    marks_ = false;
    throw;
  }
  marks_ = false;
  memory_.backend().mark();
  ++memory_.counts().waits;
  const std::vector<double> seconds = memory_.backend().between_marks();
  for (size_t i = 0; i < std::min(seconds.size(), at_); ++i) {
    const Bound& b = p.calls[i];
    if (b.is_op_stage)
      for (int64_t run = 0; run < runs; ++run) profile.run(b.stage, b.op, b.shape, b.cost, [] {});
    profile.add(b.stage, seconds[i] * double(runs));
  }
}

void RunOps::call_all(Program& p, const Plan& plan, Profile& profile, const Body& body) {
  if (VariantIds ids = plan.ids(); p.plan != ids) {
    p.plan = std::move(ids);
    p.calls.clear();
  }
  program_ = &p;
  plan_ = &plan;
  profile_ = &profile;
  at_ = 0;
  body(*this);
}

// Returns what stands at the present position of the program, bound to the call's shape and pointers. Done once for calls that
// are the same at every run.
RunOps::Bound& RunOps::bound(const OpCall& call) {
  if (at_ == program_->calls.size()) program_->calls.emplace_back();
  Bound& b = program_->calls[at_++];
  const size_t named = call.stage.size();
  if (b.op != call.op || b.stage.size() != named + call.suffix.size() || !b.stage.starts_with(call.stage) ||
      !b.stage.ends_with(call.suffix)) {
    b = {};
    b.op = call.op;
    b.stage = std::string(call.stage) + std::string(call.suffix);
    b.is_op_stage = !call.op.empty() && call.stage == call.op;
  } else if (b.work && std::ranges::equal(b.shape, call.shape) &&
             std::ranges::equal(b.pointers, call.tensors)) {
    return b;
  }
  b.shape.assign(call.shape.begin(), call.shape.end());
  b.pointers.assign(call.tensors.begin(), call.tensors.end());
  if (call.op.empty()) {
    const auto& fill = memory_.backend().fill;
    b.work = [&fill, tensor = call.tensors.front(), byte = uint8_t(call.shape[0]),
              bytes = size_t(call.shape[1])] { fill(tensor, byte, bytes); };
    return b;
  }
  b.work = {};
  const LabOp* op = find_op(b.op);
  if (op == nullptr || !op->op.valid(b.shape))
    throw std::logic_error(
        fmt::format("{}: {} is no shape of this operation", b.op, op ? shape_text(op->op, b.shape) : "?"));
  const Variant& variant = *plan_->variant(b.op);
  const std::vector<TensorSpec> tensors = op->op.tensors(b.shape);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& t = tensors[i];
    if (b.pointers[i] != nullptr || volume(t.dims) == 0) continue;
    if (t.optional && std::ranges::find(variant.needs, t.name) == variant.needs.end()) continue;
    throw std::invalid_argument(
        fmt::format("{}: the tensor {} of {} elements was not given", variant.id, t.name, volume(t.dims)));
  }
  b.cost = plan_->cost_of(b.op, op->op.cost(b.shape));
  b.work = memory_.backend().bind(variant, b.shape, b.pointers);
  return b;
}

void RunOps::do_call(const OpCall& call) {
  ++memory_.counts().calls;
  if (marks_) memory_.backend().mark();
  const Bound& b = bound(call);
  if (b.is_op_stage)
    profile_->run(b.stage, b.op, b.shape, b.cost, b.work);
  else
    profile_->time(b.stage, b.work);
}

bool RunOps::do_fused(const OpCall& call) {
  if (!plan_->contains(std::string(call.op))) return false;
  do_call(call);
  return true;
}

}  // namespace klab
