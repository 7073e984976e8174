// How a page of Markdown is read: md4c calls a reader block by block.
#pragma once

#include <md4c.h>

#include <string>
#include <string_view>

namespace klab {

/// Returns a page whose comments on lines of their own are empty lines. md4c reads tags as spans here, and a comment as a span would join
/// the table or paragraph next to it. Code keeps its comments.
std::string without_comments(const std::string& markdown);

/// Calls the reader's enter(type, detail) and leave(type, detail) for blocks, span(type, detail, begins) and text(type, text) for what
/// they contain, in order. md4c would skip the contents of HTML blocks. Read as spans, tags and the Markdown between them are both
/// delivered. `flags` are md4c's, next to those that every page of klab needs.
template <class Reader>
void read_markdown(const std::string& markdown, Reader& reader, unsigned flags = 0) {
  MD_PARSER parser{};
  parser.flags = MD_FLAG_TABLES | MD_FLAG_NOHTMLBLOCKS | flags;
  parser.enter_block = [](MD_BLOCKTYPE t, void* d, void* self) {
    return static_cast<Reader*>(self)->enter(t, d);
  };
  parser.leave_block = [](MD_BLOCKTYPE t, void* d, void* self) {
    return static_cast<Reader*>(self)->leave(t, d);
  };
  parser.enter_span = [](MD_SPANTYPE t, void* d, void* self) {
    return static_cast<Reader*>(self)->span(t, d, true);
  };
  parser.leave_span = [](MD_SPANTYPE t, void* d, void* self) {
    return static_cast<Reader*>(self)->span(t, d, false);
  };
  parser.text = [](MD_TEXTTYPE t, const MD_CHAR* s, MD_SIZE n, void* self) {
    return static_cast<Reader*>(self)->text(t, std::string_view(s, n));
  };
  const std::string text = without_comments(markdown);
  md_parse(text.data(), MD_SIZE(text.size()), &parser, &reader);
}

}  // namespace klab
