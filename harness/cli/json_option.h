// The option --json, and files for other programs: a command that has either names the schemas of what it writes.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace klab {

/// A kind of JSON that klab writes: the schema's name and the command line, without the program's name.
struct JsonOutput {
  std::string schema, command;
};

/// Adds --json. `outputs` holds, for every form of what is printed, its schema and the options that lead to it.
void add_json(CLI::App& app, bool& flag, std::vector<JsonOutput> outputs,
              const std::string& text = "for programs");

/// Names the schema of a file that the command writes.
void add_json_file(const CLI::App& app, const std::string& schema, const std::string& options);

/// Returns what the commands of this program write, in the order of the commands. Complete once all are set up.
const std::vector<JsonOutput>& json_outputs();

}  // namespace klab
