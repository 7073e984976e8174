#include "harness/step/arguments.h"

#include <regex>
#include <sstream>

#include "harness/core/source.h"

namespace klab {

std::vector<std::pair<std::string, std::string>> arguments_in(const std::string& contract) {
  static const std::regex field(R"(^\s+[A-Za-z_][\w:<> ]*[*] (\w+)( = nullptr)?;\s*(//\s*(.*))?$)");
  static const std::regex more(R"(^\s+//\s*(.*)$)");
  std::vector<std::pair<std::string, std::string>> list;
  std::istringstream in(contract);
  bool inside = false, open = false;
  for (std::string line; std::getline(in, line);) {
    if (line.find("struct Args {") != std::string::npos) inside = true;
    if (!inside) continue;
    if (line.find("};") != std::string::npos) break;
    std::smatch m;
    if (std::regex_match(line, m, field)) {
      list.emplace_back(m[1], m[4]);
      open = true;
    } else if (open && std::regex_match(line, m, more)) {
      list.back().second += (list.back().second.empty() ? "" : " ") + m[1].str();
    } else {
      open = false;
    }
  }
  return list;
}

std::vector<std::pair<std::string, std::string>> arguments_of(const std::string& op) {
  const auto file = tree_file("reference/" + op + "/" + op + ".h");
  if (!std::filesystem::exists(file)) return {};
  return arguments_in(read_text(file));
}

}  // namespace klab
