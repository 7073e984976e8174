#include "harness/cli/site/page_markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "harness/cli/markdown_events.h"
#include "harness/report/ladder_view.h"

namespace klab {
namespace {

/// Tags that pages may contain, apart from those of folded text; others are shown as text.
constexpr std::string_view kInlineTags[] = {"b", "i", "em", "strong", "sub", "sup", "kbd", "code", "br"};

/// Receives a page from md4c block by block.
class PageRenderer {
 public:
  explicit PageRenderer(const PageSurroundings& around) : around_(around) {
    page_.sections.push_back({"", "", ""});
  }

  RenderedPage run(const std::string& markdown) {
    read_markdown(markdown, *this);
    return std::move(page_);
  }

 private:
  enum class Paragraph { none, wanted, open };

  template <class Reader>
  friend void klab::read_markdown(const std::string&, Reader&, unsigned);

  static std::string text_of(const MD_ATTRIBUTE& a) { return {a.text, a.size}; }

  void put(std::string_view html) { page_.html += html; }

  /// Adds to what the search knows.
  void note(std::string_view text) {
    if (in_heading_)
      heading_ += text;
    else if (details_ == 0)
      page_.sections.back().text += text;
  }

  /// Begins the paragraph that was announced, now that something stands in it.
  void begin_inline() {
    if (paragraph_ == Paragraph::wanted && !in_summary_) {
      put("<p>");
      paragraph_ = Paragraph::open;
    }
  }
  void end_paragraph(Paragraph then) {
    flush();
    if (paragraph_ == Paragraph::open) put("</p>\n");
    paragraph_ = then;
  }

  /// Writes the text collected so far, with the words that the site explains.
  void flush() {
    if (pending_.empty()) return;
    const bool plain = !in_heading_ && !in_link_ && details_ == 0 && around_.text != nullptr;
    put(plain ? around_.text(pending_, emphasis_ > 0) : escaped(pending_));
    pending_.clear();
  }

  int enter(MD_BLOCKTYPE type, void* detail) {
    flush();
    if (type == MD_BLOCK_P) {
      paragraph_ = Paragraph::wanted;
    } else if (type == MD_BLOCK_H) {
      in_heading_ = true;
      heading_.clear();
      outer_.swap(page_.html);  // the id comes before the text
    } else if (type == MD_BLOCK_CODE) {
      in_code_ = true;
      put("<pre><code>");
    } else if (type == MD_BLOCK_OL) {
      const unsigned start = static_cast<MD_BLOCK_OL_DETAIL*>(detail)->start;
      put(start == 1 ? "<ol>\n" : fmt::format("<ol start=\"{}\">\n", start));
    } else if (type == MD_BLOCK_TH || type == MD_BLOCK_TD) {
      const bool right = static_cast<MD_BLOCK_TD_DETAIL*>(detail)->align == MD_ALIGN_RIGHT;
      put(fmt::format("<{}{}>", type == MD_BLOCK_TH ? "th" : "td", right ? " class=\"n\"" : ""));
    } else {
      put(simple(type, true));
    }
    return 0;
  }

  int leave(MD_BLOCKTYPE type, void* detail) {
    if (type == MD_BLOCK_P) {
      end_paragraph(Paragraph::none);
    } else if (type == MD_BLOCK_H) {
      heading(int(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level));
    } else if (type == MD_BLOCK_CODE) {
      in_code_ = false;
      put("</code></pre>\n");
    } else if (type == MD_BLOCK_OL) {
      put("</ol>\n");
    } else if (type == MD_BLOCK_TH || type == MD_BLOCK_TD) {
      flush();
      put(type == MD_BLOCK_TH ? "</th>" : "</td>");
    } else {
      flush();
      put(simple(type, false));
    }
    note(" ");
    return 0;
  }

  static const char* simple(MD_BLOCKTYPE type, bool begins) {
    switch (type) {
      case MD_BLOCK_QUOTE:
        return begins ? "<blockquote>" : "</blockquote>\n";
      case MD_BLOCK_UL:
        return begins ? "<ul>\n" : "</ul>\n";
      case MD_BLOCK_LI:
        return begins ? "<li>" : "</li>\n";
      case MD_BLOCK_HR:
        return begins ? "<hr>\n" : "";
      case MD_BLOCK_TABLE:
        return begins ? "<div class=\"scroll\"><table class=\"prose\">" : "</table></div>\n";
      case MD_BLOCK_THEAD:
        return begins ? "<thead>" : "</thead>";
      case MD_BLOCK_TBODY:
        return begins ? "<tbody>" : "</tbody>";
      case MD_BLOCK_TR:
        return begins ? "<tr>" : "</tr>\n";
      default:
        return "";
    }
  }

  void heading(int level) {
    flush();
    in_heading_ = false;
    outer_.swap(page_.html);  // now outer_ is the heading's own HTML
    std::string id = heading_id(heading_);
    if (const int before = used_[id]++; before > 0) id += fmt::format("-{}", before);
    put(fmt::format("<h{0} id=\"{1}\"><a href=\"#{1}\">{2}</a></h{0}>\n", level, id, outer_));
    outer_.clear();
    if (around_.behind_heading != nullptr) put(around_.behind_heading(heading_));
    page_.headings.push_back({level, heading_, id});
    page_.sections.push_back({heading_, id, ""});
  }

  int span(MD_SPANTYPE type, void* detail, bool begins) {
    flush();
    begin_inline();
    if (type == MD_SPAN_EM || type == MD_SPAN_STRONG) {
      emphasis_ += begins ? 1 : -1;
      put(fmt::format("<{}{}>", begins ? "" : "/", type == MD_SPAN_EM ? "em" : "strong"));
    } else if (type == MD_SPAN_CODE) {
      in_code_span_ = begins;
      put(begins ? "<code>" : "</code>");
    } else if (type == MD_SPAN_A && !in_heading_) {
      if (begins) address_ = text_of(static_cast<MD_SPAN_A_DETAIL*>(detail)->href);
      link(begins);
    } else if (type == MD_SPAN_IMG) {
      picture(text_of(static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src), begins);
    }
    return 0;
  }

  void link(bool begins) {
    in_link_ = begins;
    if (!begins) {
      put(linked_ ? "</a>" : "</span>");
      return;
    }
    const std::string to = around_.link != nullptr ? around_.link(address_) : address_;
    linked_ = !to.empty();
    put(linked_ ? fmt::format("<a href=\"{}\">", escaped(to))
                : fmt::format("<span class=\"file\" title=\"{}\">", escaped(address_)));
  }

  /// Text between the begin and the end of a picture describes it.
  void picture(const std::string& file, bool begins) {
    const std::string at = around_.picture != nullptr ? around_.picture(file) : "";
    in_picture_ = begins;
    if (begins) {
      description_.clear();
      return;
    }
    if (at.empty())
      put(fmt::format("<em>[picture: {}]</em>", escaped(description_)));
    else
      put(fmt::format("<img src=\"{}\" alt=\"{}\">", escaped(at), escaped(description_)));
  }

  int text(MD_TEXTTYPE type, std::string_view s) {
    if (in_picture_) {
      description_ += s;
      return 0;
    }
    if (in_code_) {
      put(escaped(std::string(s)));
      return 0;
    }
    if (type == MD_TEXT_HTML) {
      tag(s);
      return 0;
    }
    const bool blank = type == MD_TEXT_SOFTBR || s.find_first_not_of(" \n") == s.npos;
    if (paragraph_ == Paragraph::wanted && blank && !in_code_span_) return 0;  // between folded answers
    begin_inline();
    if (in_code_span_) {
      put(escaped(std::string(s)));
      note(s);
    } else if (type == MD_TEXT_ENTITY) {
      flush();
      put(s);
      note(" ");
    } else if (type == MD_TEXT_BR) {
      flush();
      put("<br>");
      note(" ");
    } else {
      const std::string_view words = type == MD_TEXT_SOFTBR ? "\n" : s;
      pending_ += words;
      note(words);
    }
    return 0;
  }

  void tag(std::string_view s) {
    if (s.starts_with("<!--")) return;
    const size_t begin = s.starts_with("</") ? 2 : 1;
    const std::string_view name = s.substr(begin, std::min(s.find_first_of(" />", begin), s.size()) - begin);
    if (name == "details") {
      // Hints stand between paragraphs, whatever the paragraph is in which they were written.
      const bool inside = paragraph_ != Paragraph::none;
      end_paragraph(inside ? Paragraph::wanted : Paragraph::none);
      details_ = std::max(0, details_ + (begin == 1 ? 1 : -1));
      put(begin == 1 ? "<details>" : "</details>\n");
    } else if (name == "summary") {
      flush();
      in_summary_ = begin == 1;
      put(begin == 1 ? "<summary>" : "</summary>\n");
      note(" ");
    } else if (std::ranges::find(kInlineTags, name) != std::end(kInlineTags)) {
      begin_inline();
      flush();
      put(fmt::format("<{}{}>", begin == 2 ? "/" : "", name));
    } else {
      begin_inline();
      pending_ += s;
      note(s);
    }
  }

  const PageSurroundings& around_;
  RenderedPage page_;
  std::string outer_;
  Paragraph paragraph_ = Paragraph::none;
  std::string pending_, heading_, address_, description_;
  int emphasis_ = 0, details_ = 0;
  bool in_heading_ = false, in_code_ = false, in_code_span_ = false, in_link_ = false, linked_ = false;
  bool in_summary_ = false, in_picture_ = false;
  std::map<std::string, int> used_;
};

}  // namespace

std::string heading_id(const std::string& heading) {
  std::string id;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) != 0 || c == '_' || c == '-')) id += char(std::tolower(byte));
    if (c == ' ') id += '-';
  }
  return id;
}

RenderedPage rendered(const std::string& markdown, const PageSurroundings& around) {
  return PageRenderer(around).run(markdown);
}

}  // namespace klab
