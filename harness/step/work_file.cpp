#include "harness/step/work_file.h"

#include <algorithm>
#include <cstdio>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "harness/core/source.h"
#include "harness/records/atomic_file.h"
#include "harness/step/arguments.h"
#include "harness/step/bodies.h"
#include "harness/step/helper_calls.h"
#include "harness/step/lesson.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

/// Returns the text after the comment at the beginning of a variant's file.
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

/// Formats "KEY       text" in lines of at most 110 columns, like the headers of variants.
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

/// Returns the headers of kernels/common that a source includes.
std::vector<std::string> helpers_of(const std::string& source) {
  static const std::regex form(R"re(#include "(kernels/common/[^"]*)")re");
  std::vector<std::string> list;
  for (std::sregex_iterator m(source.begin(), source.end(), form), end; m != end; ++m)
    list.push_back((*m)[1]);
  return list;
}

/// Returns the first sentence of the comment at the beginning of a file.
std::string first_sentence(const std::string& source) {
  std::istringstream in(source);
  std::string text;
  for (std::string line; std::getline(in, line) && line.starts_with("// ");) {
    text += (text.empty() ? "" : " ") + line.substr(3);
    if (const size_t end = (text + " ").find(". "); end != std::string::npos) return text.substr(0, end + 1);
  }
  return text;
}

constexpr const char* kFrameHeader = "kernels/common/simd.h";
constexpr const char* kFrame =
    R"(// FRAME     vectors stand in a part of the file that is compiled once for each instruction set:
//
//             #include "kernels/common/simd.h"
//@helpers
//             KLAB_SIMD_BEGIN();
//
//             void part(const @contract::Args<float>& x) {
//               const hn::ScalableTag<float> d;   // the machine's widest vector; hn::Lanes(d) floats
//             }
//
//             KLAB_SIMD_ONCE(part);   // names the functions that the rest of the file calls
//
//             #if HWY_ONCE
//             void run(const @contract::Args<float>& x) { HWY_DYNAMIC_DISPATCH(part)(x); }
//             KLAB_VARIANT(@contract, {...});   // as below
//             KLAB_SIMD_CLOSE();
//             #endif
//
//           Names of Highway 1.0, behind hn:: and with d first where it is asked for: LoadU, StoreU,
//           Stream, Set(d, x), Zero(d), Add, Sub, Mul, MulAdd(a, b, c) = a*b + c, Max, Gt, IfThenElse,
//           FirstN(d, count), MaskedLoad(mask, d, p), SumOfLanes(d, v) and MaxOfLanes(d, v), which give
//           vectors, and GetLane(v). FlushStream is hwy::FlushStream.
//
)";

/// Removes comments and collapses whitespace.
std::string code_only(const std::string& text) {
  static const std::regex comment(R"re(//[^\n]*|/\*[^]*?\*/)re"), space(R"(\s+)");
  return std::regex_replace(std::regex_replace(text, comment, ""), space, " ");
}

/// Returns the tools that klab's rung uses and the starting code lacks: Highway's frame, and shared helpers
/// with the first sentence of each, and of each function that the rung calls.
std::string tools_text(const std::string& own, const std::string& from) {
  const fs::path root = source_root();
  const auto had = helpers_of(from);
  std::string text, includes, code;
  for (const std::string& helper : helpers_of(own)) {
    if (helper == kFrameHeader || std::ranges::find(had, helper) != had.end()) continue;
    const std::string source = read_text(tree_file(helper));
    text += header_line("HELPER", helper + ": " + first_sentence(source));
    if (code.empty()) code = code_only(own);
    for (const std::string& call : helper_calls(source, code)) text += header_line("", call);
    if (helper.ends_with("-inl.h")) includes += "//             #include \"" + helper + "\"\n";
  }
  if (own.find(kFrameHeader) == std::string::npos || from.find(kFrameHeader) != std::string::npos)
    return text;
  static const std::regex contract_form(R"(KLAB_VARIANT\((\w+))");
  std::smatch contract;
  if (!std::regex_search(own, contract, contract_form)) return text;
  std::string frame = std::regex_replace(kFrame, std::regex("@contract"), contract[1].str());
  return text + std::regex_replace(frame, std::regex("//@helpers\n"),
                                   (includes.empty() ? "" : "//\n" + includes) + "//\n");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Returns a variant's code as a work file has it: complete, without what belongs to klab's own rung.
std::string code_of(const Variant& variant) {
  std::string code = without_header(source_text(variant));
  // Remove former names and a branch's size.
  static const std::regex own_names(R"re(,\s*\.(was|when) = \{(\{[^}]*\}[^}]*|[^{}]*)\})re");
  return std::regex_replace(code, own_names, "");
}

/// Returns whether both rungs take a part of their code from one header.
bool share_a_body(const Variant& a, const Variant& b) {
  const auto of_a = bodies_of(read_text(tree_file(source_path(a))));
  const auto of_b = bodies_of(read_text(tree_file(source_path(b))));
  return std::ranges::any_of(of_a,
                             [&](const auto& body) { return std::ranges::find(of_b, body) != of_b.end(); });
}

/// Marks the lines of `from` that differ in `to`, apart from the registration. `changed` counts the lines to write or to change.
std::string marked(const std::string& from, std::string to, size_t& changed) {
  static const std::regex registration(R"(KLAB_VARIANT\([^;]*;)");
  std::smatch own;
  if (std::regex_search(from, own, registration)) {
    std::smatch there;
    if (std::regex_search(to, there, registration))
      to.replace(size_t(there.position()), size_t(there.length()), own.str());
  }
  auto lines = lines_of(from);
  std::istringstream diff(unified_diff(from, to, "", "", 0));
  size_t begin = 0, count = 0, other = 0, more = 0;
  for (std::string line; std::getline(diff, line);) {
    if (std::sscanf(line.c_str(), "@@ -%zu,%zu +%zu,%zu @@", &begin, &count, &other, &more) != 4) continue;
    changed += std::max(count, more);
    const auto mark = [&](size_t number, const char* comment) {
      std::string& at = lines[number - 1];
      if (!at.ends_with('\\') && at.find("// CHANGE") == at.npos && at.find("// ADD BELOW") == at.npos)
        at += std::string(at.empty() ? "" : "  ") + comment;
    };
    for (size_t i = begin; i < begin + count; ++i)
      if (!lines[i - 1].empty()) mark(i, "// CHANGE");
    if (count == 0 && begin > 0) mark(begin, "// ADD BELOW");
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

std::string work_text(const Step& step, const Variant& from) {
  const fs::path root = source_root();
  const auto asked = header_of(read_text(root / source_path(*step.own)));
  const std::string title = lesson_of(step).title;
  std::string text = "// Step " + step.name + ", " + step.op->op.name + "." + step.own->backend + ": " +
                     (title.empty() ? step.own->rung : title) + ".\n//\n";
  for (const char* key : {"CHANGE", "EXPECT", "NUMERICS", "NEEDS"})
    if (const auto at = asked.find(key); at != asked.end()) text += header_line(key, at->second);
  std::string code = code_of(from);
  if (&from != step.own) text += tools_text(source_text(*step.own), source_text(from));
  if (&from == step.parent && share_a_body(*step.parent, *step.own)) {
    size_t changed = 0;
    code = marked(code, code_of(*step.own), changed);
    text += header_line(
        "LINES",
        "change about " + std::to_string(changed) + " of " + std::to_string(lines_of(code).size()) +
            " lines: those marked CHANGE, and lines to add below those marked ADD BELOW. klab's rung "
            "takes over the others as they are.");
  }
  for (const auto& [name, meaning] : arguments_of(step.op->op.name))
    text += header_line("ARGUMENT", "x." + name + (meaning.empty() ? "" : ": " + meaning));
  text += header_line(
      "FROM",
      from.id + ", whose code as klab has it follows. Make the change, then: klab step --check " + step.name +
          ". In KLAB_VARIANT, .tiles are sizes around which more is checked; .parent and .expect are klab's "
          "bookkeeping and may stay.");
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

// Computes the longest common subsequence with a full table: sources have a few hundred lines.
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
    size_t i, j;  // number of lines before it
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
