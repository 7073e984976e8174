// Preprocessed C++ as tokens, each with its position in the text and in its original file.
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
  bool ours = true;                   // false: from a system header, which stays unchanged
  const std::string* file = nullptr;  // from the compiler's line markers
  int line = 0;
  bool is(std::string_view t) const { return text == t; }
  bool word() const { return kind == TokenKind::word; }
  size_t end() const { return at + text.size(); }
};

struct TokenList {
  std::vector<Token> tokens;
  std::vector<std::unique_ptr<std::string>> files;  // the first is unknown, the second the one that was given
  const std::string& main_file() const { return *files[files.size() > 1 ? 1 : 0]; }
};

/// Tokenizes the output of `g++ -E`. Lines "# 12 "file" 1 3" name the origin of the next line; other lines
/// with # are pragmas and give no tokens. A pragma within a line is a macro's, which nvcc accepts and g++ does not: one mark. Other marks are single characters except :: and ->. `is_foreign` selects
/// files that are not tokenized.
TokenList tokenize(std::string_view text, bool (*is_foreign)(const std::string& file));

}  // namespace klab::cuda_compiler
