// Options that take a number: all of it a number, finite, and in its range, which --help shows and messages name.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "harness/records/numbers.h"

namespace klab {

/// Refuses what is no Number within the range, before CLI11 converts it (which cuts numbers that are too large, and takes NaN).
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
