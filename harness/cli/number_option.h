// Options that take a number: the whole text must be a finite number in the range, which --help and messages
// show.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "harness/records/numbers.h"

namespace klab {

/// Rejects text that is not a Number within the range. Runs before CLI11's conversion, which clips numbers
/// that are too large and accepts NaN.
template <class Number>
CLI::Validator number_within(Range range) {
  const auto complaint = [range](const std::string& text) -> std::string {
    try {
      number_from<Number>(text, range);
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  return CLI::Validator(complaint, text_of(range), "number");
}

template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value, Range range,
                        const std::string& text) {
  return app.add_option(name, value, text)->check(number_within<Number>(range));
}

}  // namespace klab
