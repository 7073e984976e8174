#include "harness/report/wrap.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

namespace klab {
namespace {

/// Returns the columns that a text takes on a terminal, without its escape codes.
int shown_columns(std::string_view text) {
  int count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      while (i < text.size() && !std::isalpha(static_cast<unsigned char>(text[i]))) ++i;
      continue;
    }
    count += (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U ? 1 : 0;
  }
  return count;
}

/// Splits a line into its words; each keeps the spaces before it.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = line.find_first_not_of(' ', at);
    const size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string wrapped_line(std::string_view line, int width, int more) {
  if (shown_columns(line) <= width) return std::string(line);
  const size_t indent = std::min(line.find_first_not_of(' '), line.size()) + size_t(more);
  std::string out;
  int column = 0;
  for (const std::string_view word : words_of(line)) {
    const int length = shown_columns(word);
    if (column > 0 && column + length > width) {
      const std::string_view bare = word.substr(std::min(word.find_first_not_of(' '), word.size()));
      out += "\n" + std::string(indent, ' ') + std::string(bare);
      column = int(indent) + shown_columns(bare);
    } else {
      out += word;
      column += length;
    }
  }
  return out;
}

}  // namespace

std::string wrapped(const std::string& text, int width, int more) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    out += wrapped_line(std::string_view(text).substr(at, std::min(end, text.size()) - at), width, more);
    if (end == std::string::npos) break;
    out += '\n';
    at = end + 1;
  }
  return out;
}

std::string fitted(const std::string& text, const Paper& on, int more) {
  const char* columns = std::getenv("COLUMNS");
  const bool known = on.terminal || (columns != nullptr && std::atoi(columns) > 0);
  return known ? wrapped(text, on.width, more) : text;
}

}  // namespace klab
