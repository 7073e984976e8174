#include "harness/cli/json_option.h"

#include <utility>

#include "harness/records/json_schema.h"

namespace klab {
namespace {

std::vector<JsonOutput>& all_outputs() {
  static std::vector<JsonOutput> list;
  return list;
}

}  // namespace

void add_json(CLI::App& app, bool& flag, std::vector<JsonOutput> outputs, const std::string& text) {
  app.add_flag("--json", flag, text);
  for (const JsonOutput& o : outputs)
    add_json_file(app, o.schema, (o.command.empty() ? "" : o.command + " ") + "--json");
}

void add_json_file(const CLI::App& app, const std::string& schema, const std::string& options) {
  all_outputs().push_back({schema, app.get_name() + " " + options});
}

const std::vector<JsonOutput>& json_outputs() { return all_outputs(); }

}  // namespace klab
