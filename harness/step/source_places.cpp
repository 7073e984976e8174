#include "harness/step/source_places.h"

#include <regex>
#include <sstream>

#include "harness/core/source.h"
#include "harness/step/process.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

std::string without_indent(const std::string& line) {
  const size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : line.substr(begin);
}

SourceLine line_of(const std::string& source, int number) {
  std::istringstream in(source);
  std::string line;
  for (int k = 0; k < number; ++k)
    if (!std::getline(in, line)) return {};
  return {number, without_indent(line)};
}

}  // namespace

SourceLine crash_line(const fs::path& module, const std::string& offset, const fs::path& source) {
  if (!fs::exists(module)) return {};
  const Ended ended =
      run_process({"addr2line", "-i", "-e", module.string(), "0x" + offset}, {.seconds = 20, .bytes = 0});
  if (!ended.good()) return {};
  std::istringstream in(ended.words);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.rfind(':');
    if (colon == std::string::npos || fs::path(line.substr(0, colon)).filename() != source.filename())
      continue;
    if (const int number = std::atoi(line.c_str() + colon + 1); number > 0)
      return line_of(read_text(source), number);
  }
  return {};
}

std::vector<SourceLine> unset_variables(const std::string& source) {
  static const std::regex form(
      R"(^\s*((alignas\([^)]*\)|volatile|unsigned|signed|long|short)\s+)*(float|double|int|char|long|short|unsigned|bool|u?int(8|16|32|64)_t|size_t)\s+\w+(\[[^\]=]*\])*(\s*,\s*\w+(\[[^\]=]*\])*)*\s*;)");
  std::vector<SourceLine> list;
  std::istringstream in(source);
  int number = 0, depth = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::string code = line.substr(0, line.find("//"));
    const bool inside = depth > 0 && line.starts_with(" ");
    for (const char c : code) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (inside && code.find("static") == std::string::npos && std::regex_search(code, form))
      list.push_back({number, without_indent(line)});
  }
  return list;
}

}  // namespace klab
