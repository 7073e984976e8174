#include "labs/radiance/run/pressure.h"

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>

#include "harness/records/memory_left.h"
#include "harness/records/numbers.h"
#include "labs/radiance/run/budget.h"

namespace klab {
namespace {

/// Parses "some avg10=1.53 avg60=..." as a share; returns a negative number if it is missing.
double stalled_by(const std::string& file) {
  std::ifstream in(file);
  const std::string key = "avg10=";
  for (std::string word; in >> word;)
    if (word.starts_with(key)) try {
        return number_from<double>(word.substr(key.size()), {0, 100}) / 100;
      } catch (const std::invalid_argument&) {
        return -1;
      }
  return -1;
}

/// Returns the process's control group of version 2; empty if there is none.
std::string own_group() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("0::")) return "/sys/fs/cgroup" + line.substr(3);
  return "";
}

}  // namespace

PressureRule pressure_rule_from(const std::string& text) {
  if (text == "off") return {0, 0};
  const size_t colon = text.find(':');
  try {
    if (colon != std::string::npos) {
      const PressureRule rule{number_from<double>(text.substr(0, colon), {0, 100}) / 100,
                              number_from<double>(text.substr(colon + 1), {0, 100}) / 100};
      if (rule.low < rule.high) return rule;
    }
  } catch (const std::invalid_argument&) {  // reported below
  }
  throw std::invalid_argument(fmt::format(
      "--pressure must be \"off\" or two percentages LOW:HIGH, for example 5:25, LOW below HIGH; found '{}'",
      text));
}

MemoryReading memory_reading() {
  MemoryReading reading{.resident = resident_memory(), .available = available_memory()};
  const std::string group = own_group();
  reading.stalled = group.empty() ? -1 : stalled_by(group + "/memory.pressure");
  if (reading.stalled < 0) reading.stalled = std::max(0.0, stalled_by("/proc/pressure/memory"));
  return reading;
}

Relief Pressure::measure() {
  if (rule_.off()) return Relief::none;
  last_ = read_();
  if (last_.available <= 0) return Relief::none;
  const double left = double(last_.available) / double(last_.available + last_.resident);
  if (left < rule_.low || last_.available < rule_.reserve || last_.stalled > kStalled) {
    calm_ = 0;
    if (dropped_) return Relief::shrink;
    dropped_ = true;
    return Relief::drop_caches;
  }
  dropped_ = false;
  calm_ = left > rule_.high && last_.available > 2 * rule_.reserve ? calm_ + 1 : 0;
  if (calm_ < kCalm) return Relief::none;
  calm_ = 0;
  return Relief::grow;
}

std::string Pressure::text() const {
  return fmt::format(
      "{} left of {}{}", bytes_text(last_.available), bytes_text(last_.available + last_.resident),
      last_.stalled > kStalled ? fmt::format(", {:.0f} % of the time waiting for memory", 100 * last_.stalled)
                               : "");
}

}  // namespace klab
