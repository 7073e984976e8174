#include "harness/program/loss_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {
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
        "a checkpoint's loss scale of {} after {} skipped steps: start again", state.value, state.skipped));
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

void set_loss_scale(LossScaleSettings& settings, const std::string& text) {
  settings.dynamic = text == "dynamic";
  if (settings.dynamic) return;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0)
    throw std::invalid_argument(fmt::format(
        "--loss-scale {}: is neither \"dynamic\" nor a number above 0; 65536 is usual", excerpt(text)));
  settings.start = value;
}

nlohmann::json to_json(const LossScaleSettings& s) {
  return {{"dynamic", s.dynamic}, {"start", s.start},       {"grow_after", s.grow_after},
          {"grow", s.grow},       {"back_off", s.back_off}, {"most", s.most},
          {"least", s.least}};
}

nlohmann::json to_json(const LossScale::State& s) {
  return {{"value", s.value}, {"good", s.good}, {"skipped", s.skipped}, {"in_a_row", s.in_a_row}};
}

LossScaleSettings loss_scale_settings_from(const nlohmann::json& json, const std::string& where) {
  constexpr Range any{-1e300, 1e300};  // LossScale says what it takes
  LossScaleSettings s;
  if (!json.is_object() || !json.contains("dynamic") || !json.at("dynamic").is_boolean())
    throw std::runtime_error(where + ": has no \"dynamic\", true or false");
  s.dynamic = json.at("dynamic").get<bool>();
  s.start = number_in<double>(json, "start", any, where);
  s.grow_after = number_in<int64_t>(json, "grow_after", range::steps_of_scale, where);
  s.grow = number_in<double>(json, "grow", any, where);
  s.back_off = number_in<double>(json, "back_off", any, where);
  s.most = number_in<double>(json, "most", any, where);
  s.least = number_in<double>(json, "least", any, where);
  try {
    const LossScale checked(s);
  } catch (const std::invalid_argument& e) {
    throw std::runtime_error(where + ": " + e.what());
  }
  return s;
}

LossScale::State loss_scale_state_from(const nlohmann::json& json, const std::string& where) {
  return {.value = number_in<double>(json, "value", {1e-300, 1e300}, where),
          .good = number_in<int64_t>(json, "good", {0, range::steps.high}, where),
          .skipped = number_in<int64_t>(json, "skipped", {0, range::steps.high}, where),
          .in_a_row = number_in<int64_t>(json, "in_a_row", {0, range::steps.high}, where)};
}

}  // namespace klab
