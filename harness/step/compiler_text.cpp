#include "harness/step/compiler_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

namespace klab {
namespace {

constexpr size_t kLongestLine = 160, kMostLines = 8, kMostWarnings = 4;

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Restores the names that the learner wrote, without the instruction set's namespace, and truncates long
/// lines.
std::string cut(std::string line) {
  static const std::regex target(R"((hwy::|\{anonymous\}::)N_\w+::)");
  line = std::regex_replace(line, target, "$1");
  return (line.size() > kLongestLine ? line.substr(0, kLongestLine) + " ..." : line) + "\n";
}

/// Returns whether the line is a message of that kind: "03.cpp:41:7: error: text".
bool is_of_kind(const std::string& line, const char* kind) {
  static const std::regex place(R"(^[^ :]+:\d+(:\d+)?: )");
  std::smatch m;
  if (!std::regex_search(line, m, place)) return false;
  const std::string rest = m.suffix();
  return rest.starts_with(std::string(kind) + ":") || rest.starts_with("fatal " + std::string(kind) + ":");
}

/// Returns the source excerpt that follows a message: lines with a bar, as "   41 |   c[i] = a[i];".
std::string excerpt_after(const std::vector<std::string>& lines, size_t at) {
  static const std::regex bar(R"(^ *\d* +\|.*)");
  std::string text;
  for (size_t k = at + 1; k < std::min(lines.size(), at + 3) && std::regex_match(lines[k], bar); ++k)
    text += cut(lines[k]);
  return text;
}

/// Returns whether the file is the learner's: it has no folder before its name.
bool is_own(const std::string& line) { return line.find('/') > line.find(':'); }

}  // namespace

std::string first_error(const std::string& message) {
  const auto lines = split_lines(message);
  std::set<std::string> errors;
  size_t first = lines.size();
  for (size_t k = 0; k < lines.size(); ++k) {
    if (!is_of_kind(lines[k], "error")) continue;
    errors.insert(lines[k].substr(0, lines[k].find(": ")));  // its position; types differ between targets
    if (first == lines.size()) first = k;
  }
  std::string text;
  if (first == lines.size()) {
    for (size_t k = 0; k < std::min(lines.size(), kMostLines); ++k) text += cut(lines[k]);
    return text;
  }
  text = cut(lines[first]) + excerpt_after(lines, first);
  if (!is_own(lines[first])) {
    // Show the line above that requested this code, and below it the types it was requested with.
    static const std::regex own_place(R"(^(In file included from )?([^ :/]+:\d+(:\d+)?)[:,].*)");
    const auto led = [&](size_t k) {
      return std::regex_match(lines[k], own_place) && !is_of_kind(lines[k], "error");
    };
    size_t at = first;
    while (at > 0 && !led(at - 1)) --at;
    if (at > 0) text += "from " + cut(lines[at - 1]) + excerpt_after(lines, at - 1);
  }
  if (errors.size() > 1)
    text +=
        fmt::format("and {} more error{}; this one first\n", errors.size() - 1, errors.size() > 2 ? "s" : "");
  return text;
}

std::string warnings_once(const std::string& message) {
  const auto lines = split_lines(message);
  std::set<std::string> seen;
  std::string text;
  for (size_t k = 0; k < lines.size(); ++k) {
    if (!is_of_kind(lines[k], "warning") || !seen.insert(lines[k]).second || seen.size() > kMostWarnings)
      continue;
    text += cut(lines[k]) + excerpt_after(lines, k);
  }
  if (seen.size() > kMostWarnings) text += fmt::format("and {} more warnings\n", seen.size() - kMostWarnings);
  return text;
}

}  // namespace klab
