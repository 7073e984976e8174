#include "harness/program/measure_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/check/cases.h"

namespace klab {
namespace {

/// Returns a call's size in words that fit a line of a plan: its whole shape, or what it goes over: "32768 samples of 10922 rays".
std::string text_of_size(const Op& op, const std::vector<int64_t>& shape) {
  constexpr size_t kShort = 30;
  std::string counts;
  for (const std::string_view name : {"samples", "rays", "cells"})
    if (const auto at = std::ranges::find(op.dims, name); at != op.dims.end())
      counts +=
          fmt::format("{}{} {}", counts.empty() ? "" : " of ", shape[size_t(at - op.dims.begin())], name);
  if (!counts.empty()) return counts;
  const std::string all = shape_text(op, shape);
  const auto n = std::ranges::find(op.dims, "n");
  return all.size() <= kShort || n == op.dims.end() ? all
                                                    : fmt::format("n={}", shape[size_t(n - op.dims.begin())]);
}

}  // namespace

int64_t MeasureOps::bytes_used() const {
  int64_t sum = 0;
  for (size_t i = 0; i < used_.size(); ++i)
    if (used_[i]) sum += memory_.tensors()[i].bytes();
  return sum;
}

// Before a memory is allocated, a tensor's address is that of its declaration.
void MeasureOps::do_call(const OpCall& call) {
  for (size_t i = 0; i < used_.size(); ++i)
    for (const void* tensor : call.tensors)
      if (tensor == &memory_.tensors()[i]) used_[i] = true;
  if (call.op.empty()) return;
  const std::string op(call.op);
  const std::vector<int64_t> shape(call.shape.begin(), call.shape.end());
  const auto same = std::ranges::find_if(
      calls_, [&](const PlannedCall& other) { return other.op == op && other.shape == shape; });
  if (same != calls_.end()) {
    same->times += times_;
    return;
  }
  calls_.push_back({op, shape, text_of_size(find_op(op)->op, shape), times_, {}});
  for (size_t i = 0; i < call.slots.size(); ++i)
    if (call.slots[i].optional && call.tensors[i] != nullptr)
      calls_.back().given.push_back(call.slots[i].name);
}

bool MeasureOps::do_fused(const OpCall& call) {
  do_call(call);
  return false;
}

std::vector<PlannedCall> MeasureOps::deciding() const {
  constexpr double kLittle = 0.25;
  std::map<std::string, double> most;  // by op
  for (const PlannedCall& call : calls_) {
    double& largest = most[call.op];
    largest = std::max(largest, call.times * work_of_call(call));
  }
  std::vector<PlannedCall> list = calls_;
  for (PlannedCall& call : list)
    if (call.times * work_of_call(call) < kLittle * most[call.op]) call.times = 0;
  return list;
}

double work_of_call(const PlannedCall& call) {
  constexpr double kOperationsOfAByte = 10;
  const Cost cost = find_op(call.op)->op.cost(call.shape);
  return cost.flops + kOperationsOfAByte * cost.bytes;
}

void add_other_calls(const MeasureOps& measured, std::vector<PlannedCall>& calls) {
  const size_t known = calls.size();
  for (const PlannedCall& call : measured.calls())
    if (std::none_of(calls.begin(), calls.begin() + std::ptrdiff_t(known),
                     [&](const PlannedCall& other) { return other.op == call.op; }))
      calls.push_back(call);
}

}  // namespace klab
