// Options of the commands that are settings: what a run may take, in which precision it computes, how it is watched, and how pictures are
// drawn. Each is declared once; help, range and the page of all settings follow from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/numbers.h"

namespace klab {

struct DeclaredOption {
  const char* command;  // "train", or "eval" for all commands that make pictures of a model
  const char* name;     // "--memory"
  const char* topic;    // "memory"
  const char* unit;     // of a number; empty: none
  std::optional<Range> range;
  std::string values;  // where it is no number: "f32, bf16, f16"
  std::string default_text;
  std::string meaning;
  std::vector<std::string> fields;    // for which it does something; empty: all
  std::vector<std::string> backends;  // on which; empty: all
  const char* why = "";               // what other fields do not have: "only --field hash <why>"
  const char* remedy = "leave it out";

  /// Returns its help: meaning and default.
  std::string help() const;
};

/// Returns all of them, by topic.
const std::vector<DeclaredOption>& declared_options();
/// Returns one. Throws std::logic_error for an option that is not declared.
const DeclaredOption& declared_option(const std::string& command, const std::string& name);

/// Throws std::runtime_error naming option and field if an option of klab train does not apply to the field: "--recompute",
/// "--precision f16", "--resident" or "--parts".
void require_option_of_field(const std::string& option, const std::string& field);

/// Returns the options as tables in Markdown, a column for each field.
std::string options_page(const std::vector<std::string>& fields);

}  // namespace klab
