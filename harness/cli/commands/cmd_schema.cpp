// klab schema: the schemas of the JSON that commands write.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "harness/cli/command.h"
#include "harness/cli/json_option.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"

namespace klab::schema_command {
namespace {

/// One line a form of output: what a program asks for that wants to read klab's.
int list() {
  Table table({{"schema", Column::Kind::left}, {"version"}, {"written by", Column::Kind::left}});
  for (const JsonOutput& o : json_outputs())
    table.add({o.schema, std::to_string(version_of(json_schema(o.schema))), o.command});
  fmt::print("{}", table.text());
  return exit_ok;
}

KLAB_COMMAND({.name = "schema",
              .summary = "What JSON for other programs holds: a schema for each kind",
              .details = "Without a name: the list. With one: the schema (JSON Schema, draft 2020-12).\n"
                         "Objects hold their schema's name and version. A new key leaves the version as it "
                         "is; a key that goes, or\nchanges its meaning, raises it.",
              .setup = [](CLI::App& app) -> std::function<int()> {
                auto name = std::make_shared<std::string>();
                app.add_option("name", *name, "a schema of the list")->option_text("[NAME]");
                return [name] {
                  if (name->empty()) return list();
                  fmt::print("{}", json_schema(*name).text);
                  return exit_ok;
                };
              }});

}  // namespace
}  // namespace klab::schema_command
