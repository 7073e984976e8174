// Preprocessed C++ as tokens, each with its place in the text and in the files it came from.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace klab::cuda_compiler {

enum class TokenKind : unsigned char { word, number, text, mark };  // text: a string or character literal

struct Token {
  std::string_view text;
  size_t at = 0;  // offset in the text
  TokenKind kind = TokenKind::mark;
  bool ours = true;                   // false: of a header of the system, which stays as it is
  const std::string* file = nullptr;  // by the compiler's line markers
  int line = 0;
  bool is(std::string_view t) const { return text == t; }
  bool word() const { return kind == TokenKind::word; }
  size_t end() const { return at + text.size(); }
};

struct TokenList {
  std::vector<Token> tokens;
  std::vector<std::unique_ptr<std::string>> files;
};

/// Of what `g++ -E` prints: lines "# 12 "file" 1 3" say where the next line is from; other lines with # are pragmas and
/// give no tokens. Marks are single characters but for :: and ->. `is_foreign` tells files that are not looked into.
TokenList tokenize(std::string_view text, bool (*is_foreign)(const std::string& file));

}  // namespace klab::cuda_compiler
