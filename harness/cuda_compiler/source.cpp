// Tokens of a file, and the edits to them.
#include <algorithm>
#include <array>

#include "harness/cuda_compiler/rewriter.h"

namespace klab::cuda_compiler {
namespace {

constexpr std::array kDropped = {"__global__", "__device__", "__host__", "__grid_constant__", "__managed__"};

char closing(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

}  // namespace

std::string Source::place_of(size_t i) const {
  const Token& t = list_.tokens[std::min(i, size() - 1)];
  return *t.file + ":" + std::to_string(t.line);
}

void Source::fail(size_t i, const std::string& what) const { throw Unsupported(place_of(i) + ": " + what); }

size_t Source::close_of(size_t i) const {
  const char open = list_.tokens[i].text[0], close = closing(open);
  int depth = 0;
  for (size_t k = i; k < size(); ++k) {
    const Token& t = list_.tokens[k];
    if (t.kind != TokenKind::mark) continue;
    if (t.text[0] == open) ++depth;
    if (t.text[0] == close && --depth == 0) return k;
  }
  fail(i, std::string("nothing closes this ") + open);
}

size_t Source::open_of(size_t i) const {
  const char close = list_.tokens[i].text[0], open = close == ')' ? '(' : close == ']' ? '[' : '{';
  int depth = 0;
  for (size_t k = i + 1; k-- > 0;) {
    const Token& t = list_.tokens[k];
    if (t.kind != TokenKind::mark) continue;
    if (t.text[0] == close) ++depth;
    if (t.text[0] == open && --depth == 0) return k;
  }
  fail(i, std::string("nothing opens this ") + close);
}

size_t Source::behind_angles(size_t i) const {
  int depth = 0;
  for (size_t k = i; k < size(); ++k) {
    const Token& t = list_.tokens[k];
    if (t.kind != TokenKind::mark) continue;
    if (t.is("(") || t.is("[") || t.is("{")) {
      k = close_of(k);
    } else if (t.is("<")) {
      ++depth;
    } else if (t.is(">") && --depth == 0) {
      return k + 1;
    } else if (t.is(";")) {
      break;
    }
  }
  fail(i, "these template arguments are not understood");
}

size_t Source::angle_open_of(size_t i) const {
  int depth = 0;
  for (size_t k = i + 1; k-- > 0;) {
    const Token& t = list_.tokens[k];
    if (t.kind != TokenKind::mark) continue;
    if (t.is(")") || t.is("]") || t.is("}")) {
      k = open_of(k);
    } else if (t.is(">")) {
      ++depth;
    } else if (t.is("<") && --depth == 0) {
      return k;
    } else if (t.is(";")) {
      break;
    }
  }
  fail(i, "the template arguments before this launch are not understood");
}

bool Source::has(size_t from, size_t to, std::string_view t) const {
  for (size_t k = from; k < to && k < size(); ++k)
    if (list_.tokens[k].text == t) return true;
  return false;
}

std::string Source::plain(size_t from, size_t to) const {
  std::string text;
  for (size_t k = from; k < to; ++k) {
    const Token& t = list_.tokens[k];
    if (t.is("__launch_bounds__") || t.is("__maxnreg__") || t.is("__cluster_dims__")) {
      k = close_of(k + 1);
      continue;
    }
    if (t.is("__forceinline__")) {
      text += " inline ";
      continue;
    }
    if (std::ranges::find(kDropped, t.text) != kDropped.end()) continue;
    if (k > from && list_.tokens[k - 1].end() != t.at) text += ' ';
    text += t.text;
  }
  std::ranges::replace(text, '\n', ' ');  // joined lines contain line breaks, raw strings keep theirs
  return text;
}

void Source::replace(size_t from, size_t to, const std::string& with) {
  const size_t begin = list_.tokens[from].at, end = list_.tokens[to - 1].end();
  std::string text = with;
  // Line markers in between are lost, but line breaks are kept.
  text.append(size_t(std::ranges::count(text_.substr(begin, end - begin), '\n')), '\n');
  edits_.push_back({begin, end - begin, std::move(text)});
}

std::string Source::edited() const {
  std::vector<Edit> edits = edits_;
  std::ranges::stable_sort(edits, {}, &Edit::at);
  std::string result;
  result.reserve(text_.size() + 4096);
  size_t at = 0;
  for (const Edit& e : edits) {
    if (e.at < at) continue;  // lies in text that was replaced
    result += text_.substr(at, e.at - at);
    result += e.text;
    at = e.at + e.length;
  }
  result += text_.substr(at);
  return result;
}

}  // namespace klab::cuda_compiler
