// Finds local variables of kernels that are declared without a value: `Hit v;` becomes `Hit v; ::klab::program::unset(v);`.
#include <algorithm>
#include <array>

#include "harness/cuda_compiler/rewriter.h"

namespace klab::cuda_compiler {
namespace {

/// Words that no declaration of such a variable has.
constexpr std::array kOthers = {
    "return",     "goto",        "break",    "continue",     "delete",   "throw",      "using",
    "typedef",    "static",      "extern",   "thread_local", "const",    "volatile",   "constexpr",
    "inline",     "register",    "friend",   "template",     "enum",     "union",      "else",
    "do",         "case",        "default",  "new",          "operator", "namespace",  "if",
    "for",        "while",       "switch",   "public",       "private",  "protected",  "asm",
    "co_return",  "co_yield",    "co_await", "this",         "sizeof",   "__shared__", "__constant__",
    "__device__", "__managed__", "__asm__",  "auto",         "void",     "constinit"};
constexpr std::array kTags = {"struct", "class", "typename"};

template <size_t n>
bool is_one_of(const std::array<const char*, n>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool begins_value(const Source& s, size_t i) { return s.is(i, "=") && !s.is(i + 1, "="); }

/// Returns the comma, or the end, behind the value that begins with the = at i; kNone if it may have template arguments.
size_t behind_value(const Source& s, size_t i, size_t end) {
  size_t k = i + 1;
  for (; k < end && !s.is(k, ","); ++k) {
    if (s.is(k, "<")) return Source::kNone;
    if (s.is(k, "(") || s.is(k, "[") || s.is(k, "{")) k = s.close_of(k);
  }
  return k;
}

/// Returns the token after the template arguments that begin at i; kNone if they do not end before `end`.
size_t behind_arguments(const Source& s, size_t i, size_t end) {
  int depth = 0;
  for (size_t k = i; k < end; ++k) {
    if (s.is(k, "(") || s.is(k, "[") || s.is(k, "{")) {
      k = s.close_of(k);
      if (k >= end) return Source::kNone;
    } else if (s.is(k, "<")) {
      ++depth;
    } else if (s.is(k, ">") && --depth == 0) {
      return k + 1;
    } else if (s.is(k, "&") || s.is(k, "|")) {
      return Source::kNone;  // a < b && c > d
    }
  }
  return Source::kNone;
}

}  // namespace

std::vector<size_t> rewrite_declaration(Source& s, size_t head, size_t end) {
  std::string fills;
  std::vector<size_t> names;
  bool in_type = true;
  for (size_t k = head; k < end;) {
    if (s.is(k, "alignas") || s.is(k, "__align__") || s.is(k, "__attribute__")) {
      if (!in_type || !s.is(k + 1, "(")) return {};
      k = s.close_of(k + 1) + 1;
      continue;
    }
    if (in_type && s.is(k, "::")) {
      ++k;
      continue;
    }
    if (in_type && s.is(k, "<")) {
      if (k == head || !s[k - 1].word()) return {};
      k = behind_arguments(s, k, end);
      if (k == Source::kNone) return {};
      continue;
    }
    if (!s[k].word() || !s[k].ours || is_one_of(kOthers, s[k].text)) return {};
    const bool is_name = k + 1 == end || s.is(k + 1, ",") || s.is(k + 1, "[") || begins_value(s, k + 1);
    if (!is_name) {
      if (!in_type) return {};
      ++k;
      continue;
    }
    const bool follows_type = k > head && (s[k - 1].word() || s.is(k - 1, ">") || s.is(k - 1, ")")) &&
                              !is_one_of(kTags, s[k - 1].text);
    if (in_type && !follows_type) return {};
    in_type = false;
    const size_t name = k++;
    while (k < end && s.is(k, "[")) k = s.close_of(k) + 1;
    if (begins_value(s, k)) {
      k = behind_value(s, k, end);
      if (k == Source::kNone) return {};
    } else {
      fills += " ::klab::program::unset(" + std::string(s[name].text) + ");";
      names.push_back(name);
    }
    if (k == end) break;
    if (!s.is(k, ",")) return {};
    ++k;
  }
  if (!fills.empty()) s.insert_behind(end, fills);
  return names;
}

}  // namespace klab::cuda_compiler
