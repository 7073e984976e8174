#include "harness/step/bodies.h"

#include <regex>
#include <sstream>

#include "harness/core/source.h"

namespace klab {
namespace {

const std::regex& include_line() {
  static const std::regex form(R"re(#include "(kernels/[a-z0-9_/]+/[0-9][0-9]_[a-z0-9_]+-inl\.h)")re");
  return form;
}

}  // namespace

std::vector<std::string> bodies_of(const std::string& source) {
  std::vector<std::string> list;
  for (std::sregex_iterator m(source.begin(), source.end(), include_line()), end; m != end; ++m)
    list.push_back((*m)[1]);
  return list;
}

std::string with_bodies(const std::string& source) {
  std::istringstream in(source);
  std::string text;
  std::smatch found;
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_match(line, found, include_line())) {
      text += line + "\n";
      continue;
    }
    std::istringstream body(read_text(tree_file(found[1].str())));
    bool head = true;
    for (std::string part; std::getline(body, part);) {
      head = head && part.starts_with("//");
      if (!head && !(part.empty() && text.ends_with("\n\n"))) text += part + "\n";
    }
  }
  return text;
}

std::string source_text(const Variant& variant) {
  return with_bodies(read_text(tree_file(source_path(variant))));
}

bool is_answer(const std::string& path) {
  static const std::regex form(R"((^|.*/)kernels/[a-z0-9_/]+/[0-9][0-9]_[a-z0-9_]+(-inl\.h|\.cpp|\.cu))");
  return std::regex_match(path, form);
}

}  // namespace klab
