#include "harness/cli/markdown.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "harness/cli/markdown_events.h"

namespace klab {
namespace {

/// A run of text in one color, without spaces: the unit for filling lines.
struct Word {
  std::string text;
  Ink ink = Ink::plain;
  bool space_before = true;
};

/// Collects the words of a paragraph, a heading or a cell from its pieces of text.
class Words {
 public:
  void add(std::string_view text, Ink ink) {
    for (size_t at = 0; at < text.size();) {
      if (text[at] == ' ' || text[at] == '\t' || text[at] == '\n') {
        space_ = true, ++at;
        continue;
      }
      const size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
      if (space_ || list_.empty() || list_.back().ink != ink)
        list_.push_back({"", ink, space_ || list_.empty()});
      list_.back().text += text.substr(at, end - at);
      space_ = false;
      at = end;
    }
  }
  void space() { space_ = true; }
  bool empty() const { return list_.empty(); }
  void clear() { list_.clear(), space_ = false; }
  std::string plain(size_t from = 0) const {
    std::string out;
    for (size_t i = from; i < list_.size(); ++i)
      out += (list_[i].space_before && i > from ? " " : "") + list_[i].text;
    return out;
  }
  size_t size() const { return list_.size(); }

  /// Fills lines of at most `width` columns. The first begins with `first`, the others with `rest`. Adjacent
  /// words ("`code`,") stay together.
  std::string filled(const std::string& first, const std::string& rest, int width, const Paper& on) const {
    std::string out = first;
    int column = columns_of(first);
    const int margin = columns_of(rest);
    for (size_t i = 0; i < list_.size(); ++i) {
      int length = columns_of(list_[i].text);
      for (size_t k = i + 1; k < list_.size() && !list_[k].space_before; ++k)
        length += columns_of(list_[k].text);
      const bool space = list_[i].space_before && i > 0;
      if (space && column + 1 + length > width && column > margin) {
        out += "\n" + rest;
        column = margin;
      } else if (space) {
        out += " ";
        ++column;
      }
      out += inked(list_[i].text, list_[i].ink, on);
      column += columns_of(list_[i].text);
    }
    return out + "\n";
  }

 private:
  std::vector<Word> list_;
  bool space_ = false;
};

std::string_view entity(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&nbsp;", " "}, {"&times;", "×"}, {"&quot;", "\""}, {"&amp;", "&"}};
  for (const auto& [from, to] : known)
    if (text == from) return to;
  return text;
}

std::string text_of(const MD_ATTRIBUTE& a) { return {a.text, a.size}; }

/// Receives a page from md4c block by block, and formats it.
class Typesetter {
 public:
  Typesetter(const Typesetting& how, const Paper& on)
      : hints_(how.hints), width_(std::min(how.width, 88)), on_(on) {}

  std::string run(const std::string& markdown) {
    read_markdown(markdown, *this, MD_FLAG_NOINDENTEDCODEBLOCKS);
    paragraph();
    while (out_.ends_with("\n\n")) out_.pop_back();
    return out_;
  }

 private:
  struct List {
    bool tight;
    unsigned number;  // of the next item
    char mark;        // '.' or ')' after it; 0: not numbered
    int indent;
  };

  template <class Reader>
  friend void klab::read_markdown(const std::string&, Reader&, unsigned);

  void put(const std::string& text) {
    if (folded_ == 0) out_ += text;
    after_fold_ = after_summary_ = false;
  }
  void gap() {
    if (folded_ == 0 && !after_summary_ && !out_.empty() && !out_.ends_with("\n\n")) out_ += "\n";
  }

  /// Prints the collected words: a paragraph, or the beginning of an item.
  void paragraph() {
    if (words_.empty()) return;
    if (!tight_item_) gap();
    const int margin = details_ > 0 ? 0 : margin_;  // hints in an item start at the left edge
    const std::string rest = quotes_ > 0 ? "  | " : std::string(size_t(margin), ' ');
    put(words_.filled(lead_.empty() ? rest : lead_, rest, width_, on_));
    lead_.clear();
    words_.clear();
  }

  int enter(MD_BLOCKTYPE type, void* detail) {
    if (type == MD_BLOCK_UL || type == MD_BLOCK_OL) {
      paragraph();
      const auto* o = static_cast<MD_BLOCK_OL_DETAIL*>(detail);
      const bool tight =
          type == MD_BLOCK_OL ? o->is_tight != 0 : static_cast<MD_BLOCK_UL_DETAIL*>(detail)->is_tight != 0;
      if (lists_.empty()) gap();
      lists_.push_back({tight, type == MD_BLOCK_OL ? o->start : 0U,
                        type == MD_BLOCK_OL ? o->mark_delimiter : char(0), margin_});
    } else if (type == MD_BLOCK_LI) {
      item(lists_.back());
    } else if (type == MD_BLOCK_QUOTE) {
      ++quotes_;
    } else if (type == MD_BLOCK_CODE) {
      paragraph();
      gap();
      code_.clear();
    } else if (type == MD_BLOCK_TABLE) {
      gap();
      rows_.clear();
      columns_.clear();
    } else if (type == MD_BLOCK_TR) {
      rows_.emplace_back();
    }
    in_code_ = in_code_ || type == MD_BLOCK_CODE;
    return 0;
  }

  void item(List& list) {
    std::string mark = "-";
    if (list.mark != 0) mark = std::to_string(list.number++) + list.mark;
    lead_ = std::string(size_t(std::max(list.indent, 2)), ' ') + mark + " ";
    margin_ = columns_of(lead_);
    tight_item_ = list.tight;
  }

  int leave(MD_BLOCKTYPE type, void* detail) {
    if (type == MD_BLOCK_P || type == MD_BLOCK_LI) paragraph();
    if (type == MD_BLOCK_LI) margin_ = lists_.back().indent;
    if (type == MD_BLOCK_UL || type == MD_BLOCK_OL) {
      lists_.pop_back();
      tight_item_ = !lists_.empty() && lists_.back().tight;
    }
    if (type == MD_BLOCK_QUOTE) --quotes_;
    if (type == MD_BLOCK_HR) put(std::string(size_t(width_), '-') + "\n");
    if (type == MD_BLOCK_H) heading(static_cast<MD_BLOCK_H_DETAIL*>(detail)->level);
    if (type == MD_BLOCK_CODE) code();
    if (type == MD_BLOCK_TABLE) table();
    if (type == MD_BLOCK_TH || type == MD_BLOCK_TD) {
      const bool right = static_cast<MD_BLOCK_TD_DETAIL*>(detail)->align == MD_ALIGN_RIGHT;
      if (type == MD_BLOCK_TH)
        columns_.push_back({words_.plain(), right ? Column::Kind::right : Column::Kind::left});
      else
        rows_.back().emplace_back(words_.plain());
      words_.clear();
    }
    return 0;
  }

  void heading(unsigned level) {
    const std::string title = words_.plain();
    words_.clear();
    gap();
    put(inked(title, Ink::bold, on_) + "\n");
    if (level <= 2)
      put(inked(std::string(size_t(columns_of(title)), level == 1 ? '=' : '-'), Ink::dim, on_) + "\n");
  }

  void code() {
    in_code_ = false;
    std::istringstream in(code_);
    for (std::string line; std::getline(in, line);)
      put(line.find_first_not_of(" \t\r") == std::string::npos ? "\n"
                                                               : "    " + inked(line, Ink::cyan, on_) + "\n");
  }

  void table() {
    Table table(columns_);
    table.indent(2);
    for (std::vector<Cell>& row : rows_) {
      if (row.empty()) continue;  // the head's
      row.resize(columns_.size(), Cell(""));
      table.add(std::move(row));
    }
    put(table.text(on_));
  }

  /// Replaces links by their text, plus the address if it adds information, and pictures by their description
  /// and file.
  int span(MD_SPANTYPE type, void* detail, bool begins) {
    if (type == MD_SPAN_STRONG) bold_ += begins ? 1 : -1;
    if (type == MD_SPAN_CODE) code_span_ = begins;
    if (type == MD_SPAN_IMG)
      words_.add(begins ? "[picture: " : ", " + text_of(static_cast<MD_SPAN_IMG_DETAIL*>(detail)->src) + "]",
                 ink());
    if (type != MD_SPAN_A) return 0;
    if (begins) {
      link_from_ = words_.size();
      return 0;
    }
    const std::string address = text_of(static_cast<MD_SPAN_A_DETAIL*>(detail)->href);
    if (address.starts_with("http") && address.find(words_.plain(link_from_)) == std::string::npos)
      words_.add(" <" + address + ">", ink());
    return 0;
  }

  Ink ink() const { return code_span_ ? Ink::cyan : bold_ > 0 ? Ink::bold : Ink::plain; }

  int text(MD_TEXTTYPE type, std::string_view s) {
    if (in_code_)
      code_ += s;
    else if (type == MD_TEXT_HTML)
      tag(s);
    else if (type == MD_TEXT_SOFTBR || type == MD_TEXT_BR)
      words_.space();
    else
      words_.add(type == MD_TEXT_ENTITY ? entity(s) : s, ink());
    return 0;
  }

  /// Shows only the summary of folded hints, unless they were requested. Tags that only style are dropped.
  void tag(std::string_view s) {
    if (s.starts_with("<details")) {
      paragraph();
      ++details_;
      if (folded_ > 0) ++folded_;
    } else if (s == "</summary>") {
      if (!after_fold_) gap();
      put(hints_ ? inked(words_.plain() + ":", Ink::bold, on_) + "\n"
                 : inked("> " + words_.plain() + " (folded; --hints unfolds it)", Ink::dim, on_) + "\n");
      words_.clear();
      if (!hints_ && folded_ == 0) folded_ = 1;
      after_fold_ = !hints_;
      after_summary_ = hints_;
    } else if (s == "</details>") {
      paragraph();
      details_ = std::max(0, details_ - 1);
      if (folded_ > 0) --folded_;
      after_fold_ = !hints_;
    } else if (!styles(s)) {
      words_.add(s, ink());
    }
  }

  static bool styles(std::string_view s) {
    static constexpr std::string_view known[] = {"b",   "i",  "em", "strong", "sub",     "sup",
                                                 "kbd", "br", "p",  "code",   "summary", "!"};
    const size_t begin = s.starts_with("</") ? 2 : 1;
    const size_t end = std::min(s.find_first_of(" />", begin), s.size());
    return s.starts_with("<!") || std::ranges::find(known, s.substr(begin, end - begin)) != std::end(known);
  }

  bool hints_;
  int width_;
  const Paper& on_;
  std::string out_;
  Words words_;
  std::string lead_;  // of the item that begins
  int margin_ = 0;    // of the item's other lines
  std::vector<List> lists_;
  bool tight_item_ = false;
  int quotes_ = 0, bold_ = 0;
  bool code_span_ = false, in_code_ = false;
  std::string code_;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
  size_t link_from_ = 0;
  int details_ = 0;  // open <details>
  int folded_ = 0;   // open <details> around text that is left out
  bool after_fold_ = false, after_summary_ = false;
};

}  // namespace

std::string typeset(const std::string& markdown, const Typesetting& how, const Paper& on) {
  return Typesetter(how, on).run(markdown);
}

}  // namespace klab
