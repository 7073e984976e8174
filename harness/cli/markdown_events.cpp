#include "harness/cli/markdown_events.h"

#include <algorithm>
#include <sstream>

namespace klab {
namespace {

/// Returns the number of characters at the beginning of a line that are those of a fence around code, 0 if it is none.
size_t fence_of(std::string_view line) {
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return 0;
  const size_t length = std::min(line.find_first_not_of(line[0]), line.size());
  return length < 3 ? 0 : length;
}

}  // namespace

std::string without_comments(const std::string& markdown) {
  std::istringstream in(markdown);
  std::string out, fence;
  bool in_comment = false;
  for (std::string line; std::getline(in, line);) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view text = std::string_view(line).substr(indent);
    bool drop = in_comment;
    if (!in_comment) {
      const size_t length = fence_of(text);
      const bool closes = text.find_first_not_of(text.substr(0, 1), length) == text.npos;
      if (fence.empty() && length > 0)
        fence = text.substr(0, length);
      else if (!fence.empty() && length >= fence.size() && text[0] == fence[0] && closes)
        fence.clear();
      in_comment = fence.empty() && indent < 4 && text.starts_with("<!--");
      drop = in_comment;
    }
    if (in_comment) {
      const size_t end = line.find("-->");
      in_comment = end == line.npos;
      // Words behind a comment are text.
      drop = in_comment || line.find_first_not_of(" \t\r", end + 3) == line.npos;
    }
    out += (drop ? "" : line) + "\n";
  }
  return out;
}

}  // namespace klab
