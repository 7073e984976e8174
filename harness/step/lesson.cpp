#include "harness/step/lesson.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "harness/core/source.h"

namespace klab {
namespace {

struct Section {
  std::string name;     // first word of the heading
  std::string heading;  // the whole heading
  std::string body;
};

std::vector<Section> sections_of(const std::string& page) {
  std::vector<Section> list;
  std::istringstream in(page);
  bool code = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) code = !code;
    if (!code && line.starts_with("## ")) {
      std::string heading = line.substr(3);
      std::erase(heading, '`');
      list.push_back({heading.substr(0, heading.find_first_of(":, ")), heading, ""});
    } else if (!code && line.starts_with("# ")) {
      list.push_back({"", line.substr(2), ""});  // another op's part of the page
    } else if (!list.empty()) {
      list.back().body += line + "\n";
    }
  }
  return list;
}

bool says(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

/// Keeps the sections for which `holds` is true, if there are any.
template <class Holds>
void prefer(std::vector<Section>& list, Holds holds) {
  if (std::ranges::any_of(list, holds)) std::erase_if(list, [&](const Section& s) { return !holds(s); });
}

std::vector<Section> sections_for(const std::string& page, const Step& step) {
  const std::string rung = section_name(*step.own);
  auto list = sections_of(page);
  std::erase_if(list, [&](const Section& s) { return s.name != rung && s.name != step.own->id; });
  prefer(list, [&](const Section& s) { return s.name == step.own->id; });
  const bool backward = !step.op->op.forward.empty();
  prefer(list, [&](const Section& s) { return says(s.heading, "backward") == backward; });
  return list;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

/// Moves the hints out of a text; drops those for other ops.
void take_hints(std::string& text, const std::string& op, std::vector<std::string>& hints) {
  static const std::regex form(
      R"(<details>\s*<summary>Hint[^<(]*(\(([^)]*)\))?\s*</summary>([^]*?)</details>\n?)");
  for (std::smatch m; std::regex_search(text, m, form);) {
    std::istringstream only(m[2].str());
    bool mine = !m[1].matched;
    for (std::string name; std::getline(only, name, ',');) mine = mine || trimmed(name) == op;
    if (mine) hints.push_back(trimmed(m[3]));
    text = m.prefix().str() + m.suffix().str();
  }
}

/// Moves the code out of a text, since the reader still has to find it, and leaves a note in its place.
std::string take_code(std::string& text) {
  static const std::regex form(R"(```(cpp|cuda|c\+\+)\n[^]*?```\n?)");
  std::string code;
  for (std::smatch m; std::regex_search(text, m, form);) {
    code += (code.empty() ? "" : "\n") + m.str();
    text =
        m.prefix().str() + "(Code stands here in the lesson: the last hint shows it.)\n" + m.suffix().str();
  }
  return code;
}

}  // namespace

StepLesson lesson_in(const std::string& page, const Step& step) {
  StepLesson lesson;
  std::string code;
  for (Section& s : sections_for(page, step)) {
    take_hints(s.body, step.op->op.name, lesson.hints);
    code += take_code(s.body);
    const size_t colon = s.heading.find(": ");
    if (lesson.title.empty() && colon != std::string::npos) lesson.title = s.heading.substr(colon + 2);
    lesson.text += "## " + s.heading + "\n" + s.body;
  }
  if (!code.empty()) lesson.hints.push_back("The heart of it as code, as the lesson has it:\n\n" + code);
  return lesson;
}

StepLesson lesson_of(const Step& step) {
  const auto file = source_root() / lesson_path(step.lab->id);
  if (source_root().empty() || !std::filesystem::exists(file))
    throw std::runtime_error(lesson_path(step.lab->id) + " is not there: set KLAB_ROOT to klab's folder");
  return lesson_in(read_text(file), step);
}

}  // namespace klab
