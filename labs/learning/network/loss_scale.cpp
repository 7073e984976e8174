#include "labs/learning/network/loss_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace klab::learning {
namespace {

bool positive(double x) { return std::isfinite(x) && x > 0; }

}  // namespace

LossScale::LossScale(const LossScaleSettings& s) : settings_(s) {
  if (!positive(s.start) || !positive(double(float(s.start))) || !positive(1 / double(float(s.start))))
    throw std::invalid_argument(fmt::format(
        "a loss scale of {} (--loss-scale, --scale-start): take a finite number above 0; 65536 is usual",
        s.start));
  if (s.grow_after < 1)
    throw std::invalid_argument(fmt::format("--scale-after {}: take 1 step or more", s.grow_after));
  if (!(s.grow > 1) || !std::isfinite(s.grow))
    throw std::invalid_argument(fmt::format("a loss scale that grows by {}: take a factor above 1", s.grow));
  if (!(s.back_off > 0 && s.back_off < 1))
    throw std::invalid_argument(
        fmt::format("a loss scale that backs off by {}: take a factor between 0 and 1", s.back_off));
  if (!positive(s.least) || !(s.least <= s.most) || !std::isfinite(s.most))
    throw std::invalid_argument(fmt::format("a loss scale between {} and {}", s.least, s.most));
  state_.value = s.start;
}

void LossScale::restore(const State& state) {
  if (!positive(state.value) || state.good < 0 || state.skipped < 0 || state.in_a_row < 0)
    throw std::invalid_argument(fmt::format(
        "a checkpoint's loss scale of {} after {} skipped steps: begin anew", state.value, state.skipped));
  state_ = state;
  if (!settings_.dynamic) state_.value = settings_.start;
}

bool LossScale::update(bool finite) {
  if (!finite) {
    ++state_.skipped;
    ++state_.in_a_row;
    state_.good = 0;
    if (settings_.dynamic) state_.value = std::max(state_.value * settings_.back_off, settings_.least);
    return false;
  }
  state_.in_a_row = 0;
  if (++state_.good >= settings_.grow_after && settings_.dynamic) {
    if (state_.value < settings_.most) state_.value = std::min(state_.value * settings_.grow, settings_.most);
    state_.good = 0;
  }
  return true;
}

}  // namespace klab::learning
