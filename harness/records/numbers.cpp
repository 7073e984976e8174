#include "harness/records/numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

#include "harness/records/input.h"

namespace klab {
namespace {

std::string end_text(double v) {
  return v == range::seed.high ? "18446744073709551615"
         : v < 1e15            ? fmt::format("{:.15g}", v)
                               : fmt::format("{:g}", v);
}

template <class Number>
std::string must_be(Range range) {
  return fmt::format("must be a {}number {}", std::is_integral_v<Number> ? "whole " : "", text_of(range));
}

}  // namespace

std::string text_of(Range range) {
  return fmt::format("from {} to {}", end_text(range.low), end_text(range.high));
}

bool within(double value, Range range) { return value >= range.low && value <= range.high; }

template <class Number>
Number number_from(std::string_view text, Range range) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || text.empty() || !within(double(value), range))
    throw std::invalid_argument(fmt::format("{}, found '{}'", must_be<Number>(range), excerpt(text)));
  return value;
}

template <class Number>
Number number_of(const nlohmann::json& value, const std::string& name, Range range,
                 const std::string& where) {
  const auto refuse = [&]() {
    throw std::runtime_error(
        fmt::format("{}: \"{}\" {}, found {}", where, name, must_be<Number>(range),
                    excerpt(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace))));
  };
  if (!value.is_number()) refuse();
  if constexpr (std::is_integral_v<Number>) {
    if (!value.is_number_integer()) refuse();
    // Only unsigned storage may use the top bit.
    if (value.is_number_unsigned()) {
      const auto whole = value.get<uint64_t>();
      if (whole > uint64_t(std::numeric_limits<Number>::max()) || !within(double(whole), range)) refuse();
      return Number(whole);
    }
    const auto whole = value.get<int64_t>();
    if (!within(double(whole), range) || (whole < 0 && std::is_unsigned_v<Number>) ||
        (sizeof(Number) < sizeof whole && whole < int64_t(std::numeric_limits<Number>::min())))
      refuse();
    return Number(whole);
  } else {
    const auto number = value.get<double>();
    if (!within(number, range)) refuse();
    return number;
  }
}

template <class Number>
Number number_in(const nlohmann::json& object, const char* key, Range range, const std::string& where) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || at == object.end())
    throw std::runtime_error(fmt::format("{}: has no \"{}\", which {}", where, key, must_be<Number>(range)));
  return number_of<Number>(*at, key, range, where);
}

template int number_from<int>(std::string_view, Range);
template int64_t number_from<int64_t>(std::string_view, Range);
template uint64_t number_from<uint64_t>(std::string_view, Range);
template double number_from<double>(std::string_view, Range);
template int number_in<int>(const nlohmann::json&, const char*, Range, const std::string&);
template int64_t number_in<int64_t>(const nlohmann::json&, const char*, Range, const std::string&);
template uint64_t number_in<uint64_t>(const nlohmann::json&, const char*, Range, const std::string&);
template double number_in<double>(const nlohmann::json&, const char*, Range, const std::string&);
template int number_of<int>(const nlohmann::json&, const std::string&, Range, const std::string&);
template int64_t number_of<int64_t>(const nlohmann::json&, const std::string&, Range, const std::string&);
template uint64_t number_of<uint64_t>(const nlohmann::json&, const std::string&, Range, const std::string&);
template double number_of<double>(const nlohmann::json&, const std::string&, Range, const std::string&);

}  // namespace klab
