#include "harness/cuda_compiler/tokens.h"

#include <algorithm>
#include <cctype>

namespace klab::cuda_compiler {
namespace {

bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & 0x80) != 0;
}
bool in_word(char c) { return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

class Reader {
 public:
  Reader(std::string_view text, bool (*is_foreign)(const std::string&)) : text_(text), foreign_(is_foreign) {
    list_.files.push_back(std::make_unique<std::string>("?"));
    file_ = list_.files.back().get();
  }

  TokenList read() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++at_;
        ++line_;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++at_;
      } else if (c == '#' && (at_ == 0 || text_[at_ - 1] == '\n')) {
        directive();
      } else {
        token(c);
      }
    }
    return std::move(list_);
  }

 private:
  char peek(size_t n) const { return at_ + n < text_.size() ? text_[at_ + n] : '\0'; }

  /// Reads a line marker or a pragma up to the end of its line.
  void directive() {
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end;
    size_t k = 1;
    while (k < line.size() && line[k] == ' ') ++k;
    int number = 0;
    const size_t digits = k;
    while (k < line.size() && std::isdigit(static_cast<unsigned char>(line[k])) != 0)
      number = number * 10 + (line[k++] - '0');
    if (k == digits) return;  // a pragma
    const size_t open = line.find('"', k), close = line.rfind('"');
    if (open == std::string_view::npos || close <= open) return;
    std::string name;
    for (size_t i = open + 1; i < close; ++i) {
      if (line[i] == '\\' && i + 1 < close) ++i;
      name += line[i];
    }
    const auto known = std::ranges::find_if(list_.files, [&](const auto& f) { return *f == name; });
    file_ = known == list_.files.end() ? list_.files.emplace_back(std::make_unique<std::string>(name)).get()
                                       : known->get();
    ours_ = !foreign_(*file_);
    line_ = number - 1;  // the end of this line adds one
  }

  void add(TokenKind kind, size_t length) {
    list_.tokens.push_back({text_.substr(at_, length), at_, kind, ours_, file_, line_});
    line_ += int(std::ranges::count(text_.substr(at_, length), '\n'));
    at_ += length;
  }

  void token(char c) {
    if (begins_word(c)) {
      size_t n = 1;
      while (in_word(peek(n))) ++n;
      const std::string_view word = text_.substr(at_, n);
      if (peek(n) == '"' && (word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R"))
        return add(TokenKind::text, raw_length(n));
      if ((peek(n) == '"' || peek(n) == '\'') && (word == "L" || word == "u" || word == "U" || word == "u8"))
        return add(TokenKind::text, n + quoted_length(n));
      return add(TokenKind::word, n);
    }
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
        (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))) != 0))
      return add(TokenKind::number, number_length());
    if (c == '"' || c == '\'') return add(TokenKind::text, quoted_length(0));
    if (c == '#') return add(TokenKind::mark, pragma_length());
    if ((c == ':' && peek(1) == ':') || (c == '-' && peek(1) == '>')) return add(TokenKind::mark, 2);
    add(TokenKind::mark, 1);
  }

  /// Returns the length of "#pragma unroll", with the number behind it, and 1 where something else follows.
  size_t pragma_length() const {
    size_t n = 1;
    const auto skip = [&](auto matches) {
      while (peek(n) == ' ') ++n;
      const size_t begin = n;
      while (matches(peek(n))) ++n;
      return text_.substr(at_ + begin, n - begin);
    };
    if (skip(in_word) != "pragma" || skip(in_word) != "unroll") return 1;
    const size_t whole = n;
    const bool bracket = !skip([](char c) { return c == '('; }).empty();
    const bool number =
        !skip([](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }).empty();
    if (bracket) skip([](char c) { return c == ')'; });
    return number ? n : whole;
  }

  size_t number_length() const {
    size_t n = 1;
    for (;;) {
      const char c = peek(n), before = peek(n - 1);
      const bool sign =
          (c == '+' || c == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
      const bool parted = c == '\'' && in_word(peek(n + 1));
      if (!in_word(c) && c != '.' && !sign && !parted) return n;
      ++n;
    }
  }

  /// Returns the length, with both quotes, of a literal whose quote is `from` characters ahead.
  size_t quoted_length(size_t from) const {
    const char quote = peek(from);
    size_t n = from + 1;
    while (at_ + n < text_.size() && peek(n) != quote && peek(n) != '\n') n += peek(n) == '\\' ? 2 : 1;
    return std::min(n + 1 - from, text_.size() - at_ - from);
  }

  size_t raw_length(size_t quote) const {
    const size_t open = text_.find('(', at_ + quote);
    if (open == std::string_view::npos) return text_.size() - at_;
    std::string end = ")";
    end += text_.substr(at_ + quote + 1, open - at_ - quote - 1);
    end += '"';
    const size_t close = text_.find(end, open);
    return close == std::string_view::npos ? text_.size() - at_ : close + end.size() - at_;
  }

  std::string_view text_;
  bool (*foreign_)(const std::string&);
  TokenList list_;
  const std::string* file_ = nullptr;
  size_t at_ = 0;
  int line_ = 1;
  bool ours_ = true;
};

}  // namespace

TokenList tokenize(std::string_view text, bool (*is_foreign)(const std::string& file)) {
  return Reader(text, is_foreign).read();
}

}  // namespace klab::cuda_compiler
