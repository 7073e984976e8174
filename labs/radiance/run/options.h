// Options of the commands that are settings: what a run may take, in which precision it computes, how it is watched, and how pictures are
// drawn. Each is declared once; help, range and the page of all settings follow from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/records/numbers.h"

namespace klab {

struct FieldSettings;

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
  /// Returns why it does nothing for a field with these settings on a backend; empty if it does something. Null: always empty.
  std::string (*idle_because)(const FieldSettings& settings, const std::string& backend) = nullptr;

  /// Returns its help: meaning and default.
  std::string help() const;
};

/// Returns all of them, by topic.
const std::vector<DeclaredOption>& declared_options();
/// Returns one. Throws std::logic_error for an option that is not declared.
const DeclaredOption& declared_option(const std::string& command, const std::string& name);

/// Returns why an option is refused for a field with these settings on a backend, with the remedy; empty where it applies.
std::string refusal_of(const DeclaredOption& option, const FieldSettings& settings,
                       const std::string& backend);

/// Throws std::runtime_error naming option and field if an option of klab train does not apply to the field: "--recompute",
/// "--precision f16", "--resident" or "--parts". The other one also takes options that some backends do not have: "--precision bf16".
void require_option_of_field(const std::string& option, const std::string& field);
void require_option(const std::string& option, const FieldSettings& settings, const std::string& backend);

/// Returns the options as tables in Markdown, a column for each field: the backends on which they apply. A table of refusals follows.
std::string options_page(const std::vector<std::string>& fields);

}  // namespace klab
