#include "harness/timing/left_state.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/core/element.h"

namespace klab {
namespace {

/// Returns the part of a value by which two right answers to one state may differ.
double rounding_of(Element element) {
  constexpr double kRoundings = 64;
  switch (element) {
    case Element::f16:
      return kRoundings * 0x1p-11;
    case Element::bf16:
      return kRoundings * 0x1p-8;
    case Element::f64:
    case Element::f32:
      return kRoundings * 0x1p-24;
    default:
      return 0;
  }
}

}  // namespace

LeftState::LeftState(const LabOp& op, ShapeView shape, BenchInputs& inputs)
    : specs_(op.op.tensors(shape)), inputs_(inputs) {}

LeftState::State LeftState::state() const {
  State all(specs_.size());
  for (size_t k = 0; k < specs_.size(); ++k) {
    if (specs_[k].role != Role::accumulate) continue;
    const auto* begin = static_cast<const char*>(inputs_.pointers(0)[k]);
    all[k].assign(begin, begin + volume(specs_[k].dims) * size_of(specs_[k].element));
  }
  return all;
}

void LeftState::put(const State& state) {
  for (size_t k = 0; k < specs_.size(); ++k)
    if (!state[k].empty()) std::memcpy(inputs_.pointers(0)[k], state[k].data(), state[k].size());
}

/// Returns whether a quarter of what should have moved visibly has hardly moved.
bool LeftState::idle(const State& left, const State& after, const State& expected) const {
  int64_t moved = 0, idle = 0;
  for (size_t k = 0; k < specs_.size(); ++k) {
    const Element element = specs_[k].element;
    const double rounding = rounding_of(element);
    for (int64_t i = 0, n = int64_t(left[k].size()) / size_of(element); i < n; ++i) {
      const double from = load(element, left[k].data(), i), to = load(element, expected[k].data(), i);
      const double got = load(element, after[k].data(), i);
      if (!std::isfinite(from) || !std::isfinite(to)) continue;
      if (!(std::abs(to - from) > rounding * std::max(std::abs(from), std::abs(to)))) continue;
      ++moved;
      idle += std::abs(got - from) < std::abs(to - from) / 4 ? 1 : 0;
    }
  }
  return moved > 0 && 4 * idle > moved;
}

bool LeftState::try_one(const std::function<void()>& call, const std::function<void()>& other, int before) {
  inputs_.reset(0);
  for (int k = 0; k < before; ++k) call();
  const State left = state();
  call();
  const State after = state();
  // It works on another state, and meets the first one again.
  inputs_.reset(0);
  call();
  put(left);
  call();
  if (idle(left, after, state())) return true;
  if (!other) return false;
  put(left);
  other();
  return idle(left, after, state());
}

bool LeftState::idles(const std::function<void()>& call, const std::function<void()>& other, int tries,
                      std::mt19937_64& random) {
  constexpr int kMost = 8, kFewestCalls = 2;
  int found = 0;
  for (int k = 0; k < kMost && found < 2 && (k < tries || found > 0); ++k)
    found += try_one(call, other, kFewestCalls + int(random() % 4)) ? 1 : 0;
  inputs_.reset(0);
  return found >= 2;
}

}  // namespace klab
