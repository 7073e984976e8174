#include "harness/core/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace klab {

int64_t bytes_from(std::string_view text) {
  static const std::pair<const char*, double> units[] = {{"kb", 1e3},     {"mb", 1e6},     {"gb", 1e9},
                                                         {"tb", 1e12},    {"kib", 0x1p10}, {"mib", 0x1p20},
                                                         {"gib", 0x1p30}, {"tib", 0x1p40}};
  const auto fail = [&] {
    throw std::invalid_argument(fmt::format(
        "must be a size with its unit, from 1MB to 1000TB, for example 800MB, 4GB or 1.5GiB; found '{}'",
        text));
  };
  const size_t end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == std::string_view::npos) fail();
  std::string unit(text.substr(end));
  std::erase(unit, ' ');
  for (char& ch : unit) ch = char(std::tolower(static_cast<unsigned char>(ch)));
  const auto at = std::ranges::find(units, unit, [](const auto& u) { return std::string(u.first); });
  if (at == std::end(units)) fail();
  double number = 0;
  const char* const last = text.data() + end;
  const auto [behind, error] = std::from_chars(text.data(), last, number);  // in every locale
  if (error != std::errc() || behind != last) fail();
  const double bytes = number * at->second;
  if (!(bytes >= 1e6 && bytes <= 1e15)) fail();
  return int64_t(bytes);
}

std::string bytes_text(int64_t bytes) {
  return bytes < 1'000'000'000 ? fmt::format("{:.0f} MB", double(bytes) * 1e-6)
                               : fmt::format("{:.2f} GB", double(bytes) * 1e-9);
}

}  // namespace klab
