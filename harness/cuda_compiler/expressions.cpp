// Rewrites expressions that the host compiler treats otherwise than CUDA: shifts, values that functions return, and
// calls whose error is dropped.
#include <algorithm>
#include <array>
#include <charconv>

#include "harness/cuda_compiler/rewriter.h"

namespace klab::cuda_compiler {
namespace {

bool is_one_of(std::string_view t, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, t) != list.end();
}

bool adjacent(const Source& s, size_t i) { return i + 1 < s.size() && s[i].end() == s[i + 1].at; }

/// Returns the first ; from i on, outside brackets, or kNone if the statement is something else than one
/// expression.
size_t expression_end(const Source& s, size_t i) {
  for (size_t k = i; k < s.size(); ++k) {
    if (s.is(k, "(") || s.is(k, "["))
      k = s.close_of(k);
    else if (s.is(k, ";"))
      return k;
    else if (is_one_of(s[k].text, {")", "]", "{", "}", ","}))
      return Source::kNone;
  }
  return Source::kNone;
}

/// Returns whether the > > at i close template arguments, rather than shift.
bool closes_templates(const Source& s, size_t i) {
  int open = 0;
  for (size_t k = i; k-- > 0;) {
    const std::string_view t = s[k].text;
    if (s.is(k, ")") || s.is(k, "]"))
      k = s.open_of(k);
    else if (t == ">" && !s.is(k - 1, "-"))
      --open;
    else if (t == "<")
      ++open;
    else if (is_one_of(t, {"(", "[", "{", "}", ";", "?", "="}) || (t == "&" && s.is(k - 1, "&")) ||
             (t == "|" && s.is(k - 1, "|")))
      break;
  }
  return open >= 2;
}

/// Returns whether the statement writes to or reads from a stream of the C++ library.
bool is_of_streams(const Source& s, size_t head) {
  for (size_t k = head; k < s.size() && !s.is(k, ";"); ++k)
    if (s[k].kind == TokenKind::text || is_one_of(s[k].text, {"cout", "cerr", "clog", "cin", "endl"}))
      return true;
  return false;
}

/// Returns whether the tokens from i on are a small number and nothing that binds closer than a shift.
bool is_small_number(const Source& s, size_t i) {
  if (i + 1 >= s.size() || s[i].kind != TokenKind::number) return false;
  unsigned value = 0;
  const std::string_view text = s[i].text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(end, size_t(text.data() + text.size() - end));
  const bool plain = rest.find_first_not_of("uUlL") == std::string_view::npos;
  return error == std::errc() && plain && value < 32 && (text[0] != '0' || text.size() == 1) &&
         !is_one_of(s[i + 1].text, {"+", "-", "*", "/", "%", "."});
}

}  // namespace

void rewrite_shift(Source& s, size_t i, size_t head) {
  const std::string_view t = s[i].text;
  if ((t != "<" && t != ">") || i == 0 || !adjacent(s, i) || !s.is(i + 1, t)) return;
  if (s.is(i - 1, t) && adjacent(s, i - 1)) return;  // the second character of one, or of >>>
  if (s.is(i + 2, t) && adjacent(s, i + 1)) return;  // <<<
  const bool assigns = s.is(i + 2, "=") && adjacent(s, i + 1);
  const size_t right = i + (assigns ? 3 : 2);
  const bool left_ends = s[i - 1].kind == TokenKind::word || s[i - 1].kind == TokenKind::number ||
                         s.is(i - 1, ")") || s.is(i - 1, "]");
  if (!left_ends || s.is(i - 1, "operator") || right >= s.size()) return;
  if (is_one_of(s[right].text, {")", "]", "}", ",", ";", ">", ":", "::", "{", "=", "."})) return;
  if (t == ">" && !assigns && closes_templates(s, i)) return;
  if (is_small_number(s, right) || is_of_streams(s, head)) return;
  const std::string shift(t == "<" ? "<<" : ">>"), op = assigns ? shift + "=" : shift;
  s.replace(i, right, op + " ::klab::program::Shift() " + op + " ");
}

namespace {

/// Returns the first token of what the = at i assigns to, or kNone if it begins a variable.
size_t assigned_begin(const Source& s, size_t i) {
  size_t k = i;
  while (k > 0) {
    const size_t before = k - 1;
    if (s.is(before, "]")) {
      k = s.open_of(before);
    } else if (s.is(before, ")")) {
      const size_t open = s.open_of(before);
      if (open > 0 && is_one_of(s[open - 1].text, {"if", "for", "while", "switch", "constexpr"})) break;
      k = open;
    } else if (s[before].word()) {
      if (is_one_of(s[before].text, {"else", "do"})) break;
      if (k < i && (s[k].word() || s[k].kind == TokenKind::number || s.is(k, "*"))) return Source::kNone;
      k = before;
    } else if (s.is(before, ".") || s.is(before, "->") || s.is(before, "::") || s.is(before, "*")) {
      k = before;
    } else if (is_one_of(s[before].text, {";", "{", "}", ":"})) {
      break;
    } else {
      return Source::kNone;
    }
  }
  return k < i ? k : Source::kNone;
}

/// Returns whether tokens [from, to) are a value that is computed: a call, or an operator's result.
bool is_computed(const Source& s, size_t from, size_t to) {
  if (s.is(to - 1, ")")) {
    const size_t open = s.open_of(to - 1);
    if (open > from && (s[open - 1].word() || s.is(open - 1, ">"))) return true;
  }
  for (size_t k = from; k < to; ++k) {
    if (s.is(k, "(") || s.is(k, "["))
      k = s.close_of(k);
    else if (k > from && is_one_of(s[k].text, {"+", "-", "*", "/"}) &&
             (s[k - 1].word() || s[k - 1].kind == TokenKind::number || s.is(k - 1, ")") || s.is(k - 1, "]")))
      return true;
  }
  return false;
}

}  // namespace

void rewrite_assignment(Source& s, size_t i) {
  if (!s.is(i, "=") || i == 0 || i + 1 >= s.size()) return;
  if (s.is(i + 1, "=") && adjacent(s, i)) return;
  if (adjacent(s, i - 1) &&
      is_one_of(s[i - 1].text, {"=", "!", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^"}))
    return;
  const size_t end = expression_end(s, i + 1);
  if (end == Source::kNone || end == i + 1 || s.has(i + 1, end, "=")) return;
  if (assigned_begin(s, i) == Source::kNone || !is_computed(s, i + 1, end)) return;
  s.insert_before(i + 1, "::klab::program::value(");
  s.insert_behind(end - 1, ")");
}

void rewrite_unasked(Source& s, size_t i) {
  if (i == 0 || s[i].text.ends_with("_t") ||
      is_one_of(s[i].text, {"cudaGetLastError", "cudaPeekAtLastError"}))
    return;
  if (s.is(i - 1, ")")) {  // of an if, rather than of a conversion
    const size_t open = s.open_of(i - 1);
    if (open == 0 || !is_one_of(s[open - 1].text, {"if", "for", "while"})) return;
  } else if (!is_one_of(s[i - 1].text, {";", "{", "}", "else", "do"})) {
    return;
  }
  const size_t open = s.is(i + 1, "<") ? s.behind_angles(i + 1) : i + 1;
  if (!s.is(open, "(")) return;
  const size_t close = s.close_of(open);
  if (!s.is(close + 1, ";")) return;
  s.insert_behind(close, ", ::klab::program::Unasked(\"" + std::string(s[i].text) + "\")");
}

}  // namespace klab::cuda_compiler
