// Finds computations with local variables of kernels that nothing sets: `sum += x;` becomes
// `(::klab::program::used(sum, "sum"), sum) += x;`. A variable that a branch sets is left alone: threads in which it is unset may
// compute with it for nothing.
#include <algorithm>
#include <string_view>

#include "harness/cuda_compiler/rewriter.h"

namespace klab::cuda_compiler {
namespace {

enum class Use { other, sets, computes };

bool is_one_of(const Source& s, size_t i, std::initializer_list<std::string_view> list) {
  return i < s.size() && std::ranges::find(list, s[i].text) != list.end();
}

/// Returns whether the marks at i and i + 1 are one operator: `==`, `<<`.
bool is_operator(const Source& s, size_t i, std::string_view first, std::string_view second) {
  return s.is(i, first) && s.is(i + 1, second) && s[i].end() == s[i + 1].at;
}

/// Returns the token behind the elements and members of the variable at i.
size_t operand_end(const Source& s, size_t i) {
  size_t k = i + 1;
  for (;;) {
    if (s.is(k, "["))
      k = s.close_of(k) + 1;
    else if (s.is(k, ".") && k + 1 < s.size() && s[k + 1].word())
      k += 2;
    else
      return k;
  }
}

/// Returns how many [] stand behind the name at i.
int indexes_of(const Source& s, size_t i) {
  int count = 0;
  for (size_t k = i + 1; s.is(k, "["); k = s.close_of(k) + 1) ++count;
  return count;
}

bool ends_operand(const Source& s, size_t i) {
  return s[i].kind == TokenKind::number || is_one_of(s, i, {")", "]"}) ||
         (s[i].word() && !is_one_of(s, i, {"return", "case", "else", "do"}));
}

/// Returns whether the name at i is an argument of a function that takes its arguments by value.
bool is_passed_by_value(const Source& s, size_t i) {
  size_t k = i;
  while (k > 0 && !is_one_of(s, k - 1, {"(", "[", "{", ";", "}"}))
    k = is_one_of(s, k - 1, {")", "]"}) ? s.open_of(k - 1) : k - 1;
  if (k < 2 || !s.is(k - 1, "(") || !s[k - 2].word() || s.is(k - 2, "__asm__") || s.is(k - 2, "__asm"))
    return false;
  const std::string_view callee = s[k - 2].text;
  return callee.starts_with("__") || callee.starts_with("atomic") || callee.starts_with("make_") ||
         is_one_of(s, k - 2, {"int",   "unsigned", "float", "double", "long",  "min",    "max",  "fmin",
                              "fmax",  "fminf",    "fmaxf", "sqrt",   "sqrtf", "rsqrtf", "abs",  "fabs",
                              "fabsf", "exp",      "expf",  "log",    "logf",  "pow",    "powf", "fma",
                              "fmaf",  "sin",      "sinf",  "cos",    "cosf",  "printf"});
}

/// Returns what the name of a variable at i, an array of `dimensions`, is used for; `end` is the token behind its elements and
/// members. Anything by which other code could reach the variable counts as setting it.
Use use_at(const Source& s, size_t i, size_t end, int dimensions) {
  const size_t before = i - 1;
  if (is_one_of(s, before, {".", "->", "::"})) return Use::other;  // a member of the same name
  if (s[before].word() && !is_one_of(s, before, {"return", "case", "else", "do"})) return Use::sets;
  if (s.is(end, "=") && !is_operator(s, end, "=", "=")) return Use::sets;
  if (is_one_of(s, end, {"(", "->", "{", "["})) return Use::sets;
  if (indexes_of(s, i) < dimensions) return Use::sets;  // an address
  if (is_one_of(s, before, {"(", ","}) && is_one_of(s, end, {")", ","})) {
    const bool decides = before > 0 && is_one_of(s, before - 1, {"if", "while", "switch"}) && s.is(end, ")");
    return decides ? Use::computes : is_passed_by_value(s, i) ? Use::other : Use::sets;
  }
  if (s.is(before, "&") && !(before > 0 && (ends_operand(s, before - 1) || s.is(before - 1, "&"))))
    return Use::sets;
  if (is_one_of(s, before, {":", "?"}) || is_operator(s, before - 1, ">", ">")) return Use::sets;
  if (s.is(before, "=") && before > 2 && s[before - 1].word() && s.is(before - 2, "&")) return Use::sets;

  if (is_one_of(s, end, {"+", "-", "*", "/", "%", "?"})) return Use::computes;
  if (is_operator(s, end, "=", "=") || is_operator(s, end, "!", "=")) return Use::computes;
  if ((s.is(end, "<") && !is_operator(s, end, "<", "<")) ||
      (s.is(end, ">") && !is_operator(s, end, ">", ">")))
    return Use::computes;
  if (is_one_of(s, before, {"+", "-", "/", "%", "!"})) return Use::computes;
  if (s.is(before, "*") && before > 0 &&
      (s[before - 1].kind == TokenKind::number || is_one_of(s, before - 1, {")", "]"})))
    return Use::computes;
  if (s.is(before, "<") && !is_operator(s, before - 1, "<", "<")) return Use::computes;
  const bool of_two = s.is(before, "=") && before > 0 && s[before - 1].end() == s[before].at;
  if (of_two && is_one_of(s, before - 1, {"+", "-", "*", "/", "%", "=", "!"})) return Use::computes;
  if (of_two && is_one_of(s, before - 1, {"<", ">"}) &&
      !is_operator(s, before - 2, s[before - 1].text, s[before - 1].text))
    return Use::computes;
  return Use::other;
}

}  // namespace

bool is_never_set(const Source& s, size_t name, size_t end) {
  const int dimensions = indexes_of(s, name);
  bool computes = false;
  int depth = 0;
  for (size_t k = end + 1; k < s.size(); ++k) {
    if (s.is(k, "{")) ++depth;
    if (s.is(k, "}") && depth-- == 0) break;
    if (!s[k].word() || s[k].text != s[name].text) continue;
    const Use use = use_at(s, k, operand_end(s, k), dimensions);
    if (use == Use::sets) return false;
    computes = computes || use == Use::computes;
  }
  return computes;
}

void rewrite_computation(Source& s, size_t i) {
  const size_t end = operand_end(s, i);
  if (use_at(s, i, end, 0) != Use::computes) return;
  // The expression is evaluated twice.
  for (size_t k = i; k < end; ++k)
    if (is_one_of(s, k, {"(", "="}) || is_operator(s, k, "+", "+") || is_operator(s, k, "-", "-")) return;
  s.insert_before(i, "(::klab::program::used(" + s.plain(i, end) + ", \"" + std::string(s[i].text) + "\"), ");
  s.insert_behind(end - 1, ")");
}

}  // namespace klab::cuda_compiler
