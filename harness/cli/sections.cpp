// Finds the sections of a lesson page in its source.
#include <algorithm>
#include <sstream>

#include "harness/cli/markdown.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/core/source.h"

namespace klab {
namespace {

bool starts_with_fence(const std::string& line) {
  const size_t at = line.find_first_not_of(' ');
  return at != std::string::npos && (line.compare(at, 3, "```") == 0 || line.compare(at, 3, "~~~") == 0);
}

std::string trimmed(const std::string& s) {
  const size_t begin = s.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return s.substr(begin, s.find_last_not_of(" \t\r") - begin + 1);
}

/// Calls f(line, name) for each line, where name is its section ("" before the first).
template <class F>
void each_line(const std::string& markdown, F f) {
  std::istringstream in(markdown);
  std::string name;
  bool code = false;
  for (std::string line; std::getline(in, line);) {
    if (starts_with_fence(line)) code = !code;
    const bool heading = !code && line.starts_with("## ");
    if (heading) {
      name = trimmed(line.substr(3));
      name.erase(std::remove(name.begin(), name.end(), '`'), name.end());
      const size_t word = name.find_first_of(":, ");
      // A rung, cuda.01_naive, is identified by its name alone; other headings by their whole text.
      name = name.substr(0, name.substr(0, word).find('_') != std::string::npos ? word : name.find(": "));
    } else if (!code && line.starts_with("# ")) {
      name.clear();
    }
    f(line, name, heading);
  }
}

}  // namespace

std::string section_of(const std::string& markdown, const std::string& name) {
  std::string found;
  // a number: "4", "04", "cuda.04"
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const bool number = digits < name.size();
  const bool one = name.size() - digits == 1;
  const std::string prefix = name.substr(0, digits) + (one ? "0" : "") + name.substr(digits) + "_";
  each_line(markdown, [&](const std::string& line, const std::string& section, bool) {
    if (section == name || (number && section.starts_with(prefix))) found += line + "\n";
  });
  return found;
}

std::string with_code_folded(const std::string& markdown, const std::vector<std::string>& names) {
  std::string out;
  bool code = false, folded = false, hint = false;
  each_line(markdown, [&](const std::string& line, const std::string& section, bool) {
    if (line.find("<details>") != std::string::npos) hint = true;
    if (line.find("</details>") != std::string::npos) hint = false;
    const bool fence = line.starts_with("```");
    const bool language =
        line.starts_with("```cpp") || line.starts_with("```cuda") || line.starts_with("```c++");
    if (fence && !code && language && !hint && std::ranges::find(names, section) != names.end()) {
      folded = true;
      out += "<details><summary>Code</summary>\n\n";
    }
    out += line + "\n";
    if (fence && code && folded) {
      folded = false;
      out += "\n</details>\n";
    }
    if (fence) code = !code;
  });
  return out;
}

std::vector<std::string> answers_of(const Lab& lab) {
  std::vector<std::string> names;
  for (const LabOp& op : lab.ops)
    for (const Variant* v : variants_of(op.op.name))
      if (!v->parent.empty() && !v->peer) {
        names.push_back(v->id);
        names.push_back(section_name(*v));
      }
  return names;
}

std::vector<std::string> section_names(const std::string& markdown) {
  std::vector<std::string> names;
  each_line(markdown, [&](const std::string&, const std::string& section, bool heading) {
    if (heading) names.push_back(section);
  });
  return names;
}

}  // namespace klab
