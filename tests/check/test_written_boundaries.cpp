// Every comparison of a reference is part of a stated boundary, or has a reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "harness/core/source.h"
#include "reference/boundaries.h"

namespace klab {
namespace {

/// Replaces text by blanks; lines stay.
void blank(std::string& text, size_t begin, size_t end) {
  for (size_t i = begin; i < std::min(end, text.size()); ++i)
    if (text[i] != '\n') text[i] = ' ';
}

/// Returns the place behind the bracket that closes the one at `open`.
size_t behind_bracket(const std::string& text, size_t open, char opening, char closing) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == opening ? 1 : text[i] == closing ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return text.size();
}

void blank_comments_and_strings(std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text.find('\n', i);
    const bool first = i == 0 || text[i - 1] == '\n';
    if (text.compare(i, 2, "//") == 0 || (first && text[i] == '#')) {
      blank(text, i, end);
    } else if (text[i] == '"') {
      size_t close = i + 1;
      while (close < text.size() && text[close] != '"') close += text[close] == '\\' ? 2 : 1;
      blank(text, i, close + 1);
      i = close;
    }
  }
}

/// Removes the initialization and the condition of for statements: sizes of a check try every count of turns.
void blank_loop_headers(std::string& text) {
  for (size_t i = text.find("for ("); i != text.npos; i = text.find("for (", i + 1)) {
    const size_t close = behind_bracket(text, i + 4, '(', ')');
    const size_t first = text.find(';', i);
    if (first > close) continue;  // over a range
    blank(text, i, text.find(';', first + 1));
  }
}

/// Removes the bodies of functions that no variant repeats: those that price and reject shapes or draw inputs.
void blank_other_functions(std::string& text) {
  const std::set<std::string> names = {"valid", "cost", "terms", "tensors", "arrange"};
  for (size_t body = text.find('{'); body != text.npos; body = text.find('{', body + 1)) {
    size_t close = text.find_last_not_of(" \n", body - 1);
    for (const std::string_view word : {"const", "noexcept"})
      if (close != text.npos && close >= word.size() &&
          text.compare(close + 1 - word.size(), word.size(), word) == 0)
        close = text.find_last_not_of(" \n", close - word.size());
    if (close == text.npos || text[close] != ')') continue;
    size_t open = close;
    for (int depth = 0; open > 0; --open) {
      depth += text[open] == ')' ? 1 : text[open] == '(' ? -1 : 0;
      if (depth == 0) break;
    }
    size_t name = open;
    while (name > 0 &&
           (std::isalnum(static_cast<unsigned char>(text[name - 1])) != 0 || text[name - 1] == '_'))
      --name;
    const bool draws = text.substr(open, close - open).find("Generator&") != std::string::npos;
    if (draws || names.contains(text.substr(name, open - name)))
      blank(text, body + 1, behind_bracket(text, body, '{', '}') - 1);
  }
}

std::string compared_code(std::string text) {
  blank_comments_and_strings(text);
  blank_other_functions(text);  // first: it looks for whole brackets
  blank_loop_headers(text);
  return text;
}

/// Returns the places of comparisons, clamps, remainders, sentinels and searches in code.
std::vector<size_t> comparisons_in(const std::string& code) {
  static constexpr std::array kOperators = {" < ", " > ", " <= ", " >= ", " == ", " != ", " % "};
  static constexpr std::array kWords = {"std::min",
                                        "std::max",
                                        "std::clamp",
                                        "std::fmin",
                                        "std::fmax",
                                        "std::min_element",
                                        "std::max_element",
                                        "std::lower_bound",
                                        "std::upper_bound",
                                        "std::sort",
                                        "std::stable_sort",
                                        "std::all_of",
                                        "std::any_of",
                                        "numeric_limits",
                                        "INFINITY",
                                        "HUGE_VAL",
                                        "isfinite",
                                        "isnan",
                                        "isinf",
                                        "-1"};
  const auto part_of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  std::vector<size_t> places;
  for (size_t i = 1; i < code.size(); ++i) {
    for (const std::string_view op : kOperators)
      if (code.compare(i - 1, op.size(), op) == 0) places.push_back(i);
    for (const std::string_view word : kWords) {
      if (code.compare(i, word.size(), word) != 0 ||
          part_of_word(code[std::min(i + word.size(), code.size() - 1)]))
        continue;
      // A sentinel stands alone: behind a bracket, an operator or a keyword, and in front of an end.
      const bool sentinel = word == "-1";
      if (sentinel && std::string_view(" ({").find(code[i - 1]) == std::string_view::npos) continue;
      if (sentinel && std::string_view(";,)}").find(code[i + 2]) == std::string_view::npos &&
          code.compare(i + 2, 2, " :") != 0)
        continue;
      if (!sentinel && part_of_word(code[i - 1])) continue;
      places.push_back(i);
    }
  }
  std::ranges::sort(places);
  return places;
}

/// Removes the places that lie in one of the pieces of code. Returns whether any did.
bool remove_covered(const std::string& code, const std::string& piece, std::vector<size_t>& places,
                    const std::vector<size_t>& all) {
  bool any = false;
  for (size_t at = code.find(piece); at != code.npos; at = code.find(piece, at + 1)) {
    const auto inside = [&](size_t place) { return place >= at && place < at + piece.size(); };
    any = any || std::ranges::any_of(all, inside);
    std::erase_if(places, inside);
  }
  return any;
}

std::vector<std::string> pieces_of(const std::string& op) {
  std::vector<std::string> pieces;
  for (const StatedBoundary& b : boundaries())
    if (b.op == op) pieces.insert(pieces.end(), b.code.begin(), b.code.end());
  for (const StatedReason& r : no_boundaries())
    if (r.op == op) pieces.push_back(r.code);
  return pieces;
}

TEST(WrittenBoundaries, EveryComparisonOfAReferenceIsStatedOrHasAReason) {
  int places_in_all = 0;
  for (const auto& folder :
       std::filesystem::directory_iterator(std::string(KLAB_SOURCE_DIR) + "/reference")) {
    if (!folder.is_directory()) continue;
    const std::string op = folder.path().filename().string();
    const std::vector<std::string> pieces = pieces_of(op);
    std::set<std::string> unused(pieces.begin(), pieces.end());
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      if (file.starts_with("boundaries.") || !(file.ends_with(".cpp") || file.ends_with(".h"))) continue;
      const std::string code = compared_code(read_text(entry.path().string()));
      const std::vector<size_t> all = comparisons_in(code);
      places_in_all += int(all.size());
      std::vector<size_t> left = all;
      for (const std::string& piece : pieces)
        if (remove_covered(code, piece, left, all)) unused.erase(piece);
      for (const size_t place : left) {
        const size_t begin = code.rfind('\n', place) + 1;
        ADD_FAILURE() << "reference/" << op << "/" << file << ":"
                      << std::count(code.begin(), code.begin() + long(place), '\n') + 1 << ": "
                      << code.substr(begin, code.find('\n', place) - begin) << "\n  state it in reference/"
                      << op << "/boundaries.cpp: a Boundary or a NoBoundary with this code";
      }
    }
    for (const std::string& piece : unused)
      ADD_FAILURE() << "reference/" << op
                    << "/boundaries.cpp names code that compares nothing in this folder: " << piece;
  }
  EXPECT_GT(places_in_all, 300);
}

TEST(WrittenBoundaries, EveryOpStatesABoundaryOrAReason) {
  std::set<std::string> stating;
  for (const StatedBoundary& b : boundaries()) stating.emplace(b.op);
  for (const StatedReason& r : no_boundaries()) {
    stating.emplace(r.op);
    EXPECT_NE(r.reason, "") << r.op << ", " << r.code;
  }
  for (const auto& folder :
       std::filesystem::directory_iterator(std::string(KLAB_SOURCE_DIR) + "/reference")) {
    const std::string op = folder.path().filename().string();
    if (folder.is_directory() && !stating.contains(op))
      ADD_FAILURE() << "reference/" << op << " has no boundaries.cpp with a Boundary or a NoBoundary";
  }
}

TEST(WrittenBoundaries, TheScanFindsWhatDecidesAndLeavesOutTheRest) {
  const auto count = [](const std::string& text) { return comparisons_in(compared_code(text)).size(); };
  EXPECT_EQ(count("if (a < b) c = d;"), 1U);
  EXPECT_EQ(count("x = a <= b && c == d || e != f % g;"), 4U);
  EXPECT_EQ(count("x = std::clamp(a, b, c) + std::max<int>(a, b);"), 2U);
  EXPECT_EQ(count("row[i] = -1; return -1; f(x, -1); y = a ? -1 : b; z = n - 1; w[k -1] = 0;"), 4U);
  EXPECT_EQ(count("while (i < n) ++i;"), 1U);
  EXPECT_EQ(count("for (int i = 0; i < n; ++i) if (x[i] > 0) y = 1;"), 1U);
  EXPECT_EQ(count("for (const int i : {a < b, c}) f(i);"), 1U);
  EXPECT_EQ(count("std::vector<int> v; // a < b\nconst char* t = \"a < b\";\n#if A < B\n"), 0U);
  EXPECT_EQ(count("void Op::arrange(const Args& x, Generator& random) { if (a < b) { c = d % e; } }"), 0U);
  EXPECT_EQ(count("bool valid(const Shape& s) const { return s.n >= 0; }\nint f(int n) { return n > 0; }"),
            1U);
  EXPECT_EQ(count("void strew(float* p, Generator& random) { if (random() % 2) p[0] = 1; }"), 0U);
}

}  // namespace
}  // namespace klab
