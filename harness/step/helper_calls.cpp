#include "harness/step/helper_calls.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

namespace klab {
namespace {

/// Returns the names in a parameter list: "D d, const float* p, size_t count = 1" gives "d, p, count".
std::string parameter_names(const std::string& list) {
  static const std::regex last_name(R"re((\w+)(?:\[\w*\])*\s*$)re");
  std::string names, parameter;
  int depth = 0;
  for (const char c : list + ",") {
    depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
    if (c != ',' || depth > 0) {
      parameter += c;
      continue;
    }
    parameter = parameter.substr(0, parameter.find('='));
    std::smatch name;
    if (std::regex_search(parameter, name, last_name) && name[1] != "KLAB_SIMT_HERE")
      names += (names.empty() ? "" : ", ") + name[1].str();
    parameter.clear();
  }
  return names;
}

/// Returns the first sentence of the comment that ends above line `at`; template lines may lie between.
std::string comment_above(const std::vector<std::string>& lines, size_t at) {
  while (at > 0 && (lines[at - 1].starts_with("template") || lines[at - 1].starts_with("requires"))) --at;
  size_t begin = at;
  while (begin > 0 && lines[begin - 1].starts_with("/// ")) --begin;
  std::string text;
  for (; begin < at; ++begin) text += (text.empty() ? "" : " ") + lines[begin].substr(4);
  for (size_t end = 0; (end = text.find(". ", end)) != std::string::npos; ++end)
    if (end + 2 < text.size() && std::isupper(static_cast<unsigned char>(text[end + 2])) != 0)
      return text.substr(0, end + 1);
  return text;
}

}  // namespace

std::vector<std::string> helper_calls(const std::string& header, const std::string& code) {
  static const std::regex definition(
      R"re(^(?:HWY_INLINE|KLAB_SIMT_INLINE|inline|constexpr|__device__)\b[^(;=]*?\b(\w+)\(([^{;]*)\)[^()]*\{)re");
  std::istringstream in(header);
  std::vector<std::string> lines, calls, seen;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string text = lines[i];
    for (size_t k = i + 1; k < std::min(lines.size(), i + 4) && text.find('{') == std::string::npos; ++k)
      text += " " + lines[k];
    std::smatch found;
    if (!std::regex_search(text, found, definition, std::regex_constants::match_continuous)) continue;
    const std::string name = found[1];
    if (std::ranges::find(seen, name) != seen.end()) continue;
    if (!std::regex_search(code, std::regex("\\b" + name + "\\("))) continue;
    seen.push_back(name);
    const std::string says = comment_above(lines, i);
    calls.push_back(name + "(" + parameter_names(found[2]) + ")" + (says.empty() ? "" : ": " + says));
  }
  return calls;
}

}  // namespace klab
