// Finds and rewrites inline PTX in a program's text.
#include "harness/cuda_compiler/ptx.h"

#include <cctype>
#include <stdexcept>

#include "harness/cuda_compiler/rewriter.h"

namespace klab::cuda_compiler {
namespace {

/// Returns the text of string literals, with %% as %.
std::string text_of(const Source& s, size_t from, size_t to) {
  std::string text;
  for (size_t k = from; k < to; ++k) {
    const std::string_view piece = s[k].text;
    for (size_t i = 1; i + 1 < piece.size(); ++i) {
      char c = piece[i];
      if (c == '\\' && i + 2 < piece.size()) c = piece[++i] == 'n' ? '\n' : piece[i] == 't' ? ' ' : piece[i];
      if (c == '%' && i + 2 < piece.size() && piece[i + 1] == '%') ++i;
      text += c;
    }
  }
  return text;
}

/// Substitutes operands for $0$, $1$, ...; returns "" if one is missing.
std::string with_operands(const std::string& code, const std::vector<std::string>& operands) {
  std::string text;
  for (size_t k = 0; k < code.size(); ++k) {
    if (code[k] != '$') {
      text += code[k];
      continue;
    }
    const size_t end = code.find('$', k + 1);
    const auto which = size_t(std::stoul(code.substr(k + 1, end - k - 1)));
    if (which >= operands.size()) return "";
    text += "(" + operands[which] + ")";
    k = end;
  }
  return text;
}

}  // namespace

void rewrite_ptx(Source& s, size_t i) {
  size_t open = i + 1;
  while (s[open].word()) ++open;  // volatile
  if (!s.is(open, "(") || s[open + 1].kind != TokenKind::text) return;
  const size_t close = s.close_of(open);
  size_t k = open + 1;
  while (k < close && s[k].kind == TokenKind::text) ++k;
  const std::string text = text_of(s, open + 1, k);
  std::string code;
  try {
    code = translate_ptx(text);
  } catch (const std::invalid_argument& e) {
    // Most functions of a library are never called, so an unsupported instruction in a header fails only if it
    // is reached.
    if (s.is_included(i)) {
      s.replace(i, close + 1,
                "::klab::program::not_known_ptx(\"" + std::string(e.what()) +
                    "\", __builtin_FILE(), __builtin_LINE())");
      return;
    }
    s.fail(i, std::string("the inline PTX \"") + e.what() +
                  "\" is not known on the host; it needs a GPU, or CUDA C++ in its place");
  }
  // Collect the operands "=r"(x), ... in order.
  std::vector<std::string> operands;
  for (; k < close; ++k)
    if (s.is(k, "(")) {
      operands.push_back(s.plain(k + 1, s.close_of(k)));
      k = s.close_of(k);
    }
  const std::string whole = with_operands(code, operands);
  if (whole.empty() && !code.empty()) s.fail(i, "the inline PTX \"" + text + "\" lacks operands");
  s.replace(i, close + 1, "(void)(__extension__({ " + whole + "0; }))");
}

}  // namespace klab::cuda_compiler
