#include "harness/step/work_file.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "harness/atomic_file.h"
#include "harness/cli/source.h"
#include "harness/step/lesson.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

/// Everything behind the comment that a variant's file opens with.
std::string without_header(const std::string& source) {
  std::istringstream in(source);
  std::string line, rest;
  bool header = true;
  while (std::getline(in, line)) {
    header = header && line.starts_with("//");
    if (!header) rest += line + "\n";
  }
  return rest;
}

/// "KEY       text" set in lines of at most 110 columns, as the headers of variants are.
std::string header_line(const std::string& key, const std::string& text) {
  std::istringstream in(text);
  std::string out, line = "// " + key + std::string(10 - std::min<size_t>(9, key.size()), ' ');
  const std::string indent = "//" + std::string(11, ' ');
  bool first = true;
  for (std::string word; in >> word;) {
    if (!first && line.size() + 1 + word.size() > 110) {
      out += line + "\n";
      line = indent + word;
    } else {
      line += (first ? "" : " ") + word;
    }
    first = false;
  }
  return out + line + "\n";
}

/// Comments go, and what spaces there are become one.
std::string code_only(const std::string& text) {
  static const std::regex comment(R"re(//[^\n]*|/\*[^]*?\*/)re"), space(R"(\s+)");
  return std::regex_replace(std::regex_replace(text, comment, ""), space, " ");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::string work_text(const Step& step, const Variant& from) {
  const fs::path root = source_root();
  const auto asked = header_of(read_text(root / source_path(*step.own)));
  const auto text_of = [&](const char* key) {
    const auto at = asked.find(key);
    return at == asked.end() ? std::string("-") : at->second;
  };
  const std::string title = lesson_of(step).title;
  std::string text = "// Step " + step.name + ", " + step.op->op.name + "." + step.own->backend + ": " +
                     (title.empty() ? step.own->rung : title) + ".\n//\n";
  text += header_line("CHANGE", text_of("CHANGE"));
  text += header_line("EXPECT", text_of("EXPECT"));
  text += header_line("NUMERICS", text_of("NUMERICS"));
  text += header_line("NEEDS", text_of("NEEDS"));
  text += header_line(
      "FROM", from.id + ", whose code follows. Make the change, then: klab step --check " + step.name);
  std::string code = without_header(read_text(root / source_path(from)));
  // Highway includes this file once for each instruction set, wherever it lies.
  static const std::regex target(R"re(#define HWY_TARGET_INCLUDE "[^"]*")re");
  code = std::regex_replace(code, target, "#define HWY_TARGET_INCLUDE KLAB_STEP_FILE");
  return text + code;
}

std::string start_text(const Step& step) { return work_text(step, *step.parent); }

fs::path work_path(const Step& step) { return work_folder() / step.work; }

bool start_work(const Step& step) {
  const fs::path file = work_path(step);
  if (fs::exists(file)) return false;
  const std::string text = start_text(step);
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  try {
    write_file(file, text);
  } catch (const FileError& failure) {
    throw FileError(std::string(failure.what()) + ": set KLAB_WORK to a folder that you may write to");
  }
  return true;
}

bool is_unchanged(const Step& step, const std::string& text) {
  return code_only(text) == code_only(start_text(step));
}

// Longest common subsequence by the table: sources are a few hundred lines.
std::string unified_diff(const std::string& from, const std::string& to, const std::string& from_name,
                         const std::string& to_name, int context) {
  const auto a = lines_of(from), b = lines_of(to);
  const size_t n = a.size(), m = b.size();
  std::vector<std::vector<int>> common(n + 1, std::vector<int>(m + 1, 0));
  for (size_t i = n; i-- > 0;)
    for (size_t j = m; j-- > 0;)
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  struct Line {
    char mark;
    const std::string* text;
    size_t i, j;  // lines before it
  };
  std::vector<Line> all;
  for (size_t i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && a[i] == b[j]) {
      all.push_back({' ', &a[i], i, j});
      ++i, ++j;
    } else if (i < n && (j == m || common[i + 1][j] >= common[i][j + 1])) {
      all.push_back({'-', &a[i], i, j});
      ++i;
    } else {
      all.push_back({'+', &b[j], i, j});
      ++j;
    }
  }
  std::string out;
  const auto around = size_t(context);
  for (size_t k = 0; k < all.size();) {
    if (all[k].mark == ' ') {
      ++k;
      continue;
    }
    const size_t begin = k > around ? k - around : 0;
    size_t last = k;
    for (size_t e = k; e < all.size() && e <= last + 2 * around; ++e)
      if (all[e].mark != ' ') last = e;
    const size_t end = std::min(all.size(), last + around + 1);
    size_t removed = 0, added = 0;
    for (size_t e = begin; e < end; ++e) {
      removed += all[e].mark != '+' ? 1 : 0;
      added += all[e].mark != '-' ? 1 : 0;
    }
    if (out.empty()) out = "--- " + from_name + "\n+++ " + to_name + "\n";
    const auto from_line = [](size_t before, size_t count) {
      return std::to_string(count == 0 ? before : before + 1) + "," + std::to_string(count);
    };
    out += "@@ -" + from_line(all[begin].i, removed) + " +" + from_line(all[begin].j, added) + " @@\n";
    for (size_t e = begin; e < end; ++e) out += all[e].mark + *all[e].text + "\n";
    k = end;
  }
  return out;
}

}  // namespace klab
