#include "harness/cli/markdown.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace klab {
namespace {

/// A run of text in one ink, without spaces: what lines are filled with.
struct Word {
  std::string text;
  Ink ink = Ink::plain;
  bool space_before = true;
};

bool starts_with_fence(const std::string& line) {
  const size_t at = line.find_first_not_of(' ');
  return at != std::string::npos && (line.compare(at, 3, "```") == 0 || line.compare(at, 3, "~~~") == 0);
}

std::string trimmed(const std::string& s) {
  const size_t begin = s.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return "";
  return s.substr(begin, s.find_last_not_of(" \t\r") - begin + 1);
}

std::string entities_replaced(std::string s) {
  static const std::pair<const char*, const char*> known[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&nbsp;", " "}, {"&times;", "×"}, {"&quot;", "\""}, {"&amp;", "&"}};
  for (const auto& [from, to] : known)
    for (size_t at = s.find(from); at != std::string::npos; at = s.find(from, at))
      s.replace(at, std::string(from).size(), to);
  return s;
}

/// Links become their text and, where that says something new, the address; pictures their description and
/// file.
std::string links_replaced(const std::string& s) {
  static const std::regex picture(R"(!\[([^\]]*)\]\(([^)\s]*)[^)]*\))");
  static const std::regex link(R"(\[([^\]]*)\]\(([^)\s]*)[^)]*\))");
  static const std::regex tag(R"(</?(b|i|em|strong|sub|sup|br|p|kbd|code)\s*/?>)");
  std::string out = std::regex_replace(s, picture, "[picture: $1, $2]");
  out = std::regex_replace(out, tag, "");
  std::string text;
  std::smatch m;
  while (std::regex_search(out, m, link)) {
    text += m.prefix().str() + m[1].str();
    const std::string address = m[2].str();
    if (address.starts_with("http") && address.find(m[1].str()) == std::string::npos)
      text += " <" + address + ">";
    out = m.suffix().str();
  }
  return text + out;
}

/// Splits into words, taking off the marks of code, bold and emphasis. Inside `code` nothing is a mark.
std::vector<Word> words_of(const std::string& raw, Ink base) {
  // Code first: links and entities inside it are meant literally.
  std::vector<Word> words;
  std::string current;
  bool space = true;
  bool bold = false, code = false, emphasis = false;
  const auto ink = [&] { return code ? Ink::cyan : bold ? Ink::bold : base; };
  const auto flush = [&](bool space_follows) {
    if (!current.empty()) {
      words.push_back({current, ink(), space});
      space = false;
    }
    current.clear();
    space = space || space_follows;
  };
  std::string s;
  for (size_t i = 0; i < raw.size();) {  // replace links outside of code only
    const size_t tick = raw.find('`', i);
    s += entities_replaced(links_replaced(raw.substr(i, tick - i)));
    if (tick == std::string::npos) break;
    const size_t close = raw.find('`', tick + 1);
    if (close == std::string::npos) {
      s += raw.substr(tick);
      break;
    }
    s += raw.substr(tick, close - tick + 1);
    i = close + 1;
  }
  for (size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (c == '`' && (code || s.find('`', i + 1) != std::string::npos)) {
      flush(false);
      code = !code;
    } else if (!code && c == '*' && i + 1 < s.size() && s[i + 1] == '*') {
      flush(false);
      bold = !bold;
      ++i;
    } else if (!code && c == '*' &&
               (emphasis ||
                (i + 1 < s.size() && s[i + 1] != ' ' && s.find('*', i + 1) != std::string::npos))) {
      emphasis = !emphasis;
    } else if (!code && c == '\\' && i + 1 < s.size() &&
               std::ispunct(static_cast<unsigned char>(s[i + 1])) != 0) {
      current += s[++i];
    } else if (c == ' ' || c == '\t') {
      flush(true);
    } else {
      current += c;
    }
  }
  flush(false);
  return words;
}

std::string fill(const std::string& text, const std::string& first, const std::string& rest, int width,
                 Ink base, const Paper& on) {
  std::string out = first;
  int column = columns_of(first);
  const int margin = columns_of(rest);
  bool fresh = true;
  const auto words = words_of(text, base);
  for (size_t i = 0; i < words.size(); ++i) {
    // Words that touch ("`code`,") stay together.
    int length = columns_of(words[i].text);
    for (size_t k = i + 1; k < words.size() && !words[k].space_before; ++k)
      length += columns_of(words[k].text);
    const bool space = words[i].space_before && !fresh;
    if (words[i].space_before && !fresh && column + 1 + length > width && column > margin) {
      out += "\n" + rest;
      column = margin;
    } else if (space) {
      out += " ";
      ++column;
    }
    out += inked(words[i].text, words[i].ink, on);
    column += columns_of(words[i].text);
    fresh = false;
  }
  return out + "\n";
}

std::vector<std::string> table_cells(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  const std::string body = trimmed(line).substr(1);
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '\\' && i + 1 < body.size() && body[i + 1] == '|')
      cell += body[++i];
    else if (body[i] == '|')
      cells.push_back(trimmed(cell)), cell.clear();
    else
      cell += body[i];
  }
  if (!trimmed(cell).empty()) cells.push_back(trimmed(cell));
  return cells;
}

std::string plain(const std::string& text) {
  std::string out;
  for (const Word& w : words_of(text, Ink::plain))
    out += (w.space_before && !out.empty() ? " " : "") + w.text;
  return out;
}

std::string set_table(const std::vector<std::string>& lines, const Paper& on) {
  std::vector<Column> columns;
  const auto align = table_cells(lines[1]);
  const auto titles = table_cells(lines[0]);
  for (size_t c = 0; c < titles.size(); ++c) {
    const bool right = c < align.size() && align[c].ends_with(":") && !align[c].starts_with(":");
    columns.push_back({plain(titles[c]), right ? Column::Kind::right : Column::Kind::left});
  }
  Table table(columns);
  table.indent(2);
  for (size_t i = 2; i < lines.size(); ++i) {
    auto cells = table_cells(lines[i]);
    cells.resize(columns.size());
    std::vector<Cell> row;
    row.reserve(cells.size());
    for (const std::string& cell : cells) row.emplace_back(plain(cell));
    table.add(std::move(row));
  }
  return table.text(on);
}

class Typesetter {
 public:
  Typesetter(const std::string& markdown, const Typesetting& how, const Paper& on)
      : hints_(how.hints), width_(std::min(how.width, 88)), on_(on) {
    std::istringstream in(markdown);
    const std::string close = "</details>";
    for (std::string line; std::getline(in, line);) {
      // What closes at the end of a paragraph's line stands in a line of its own, as if it had been written so.
      const bool closes = line.size() > close.size() && line.ends_with(close);
      lines_.push_back(closes ? line.substr(0, line.size() - close.size()) : line);
      if (closes) lines_.push_back(close);
    }
  }

  std::string run() {
    while (at_ < lines_.size()) block();
    while (out_.ends_with("\n\n")) out_.pop_back();
    return out_;
  }

 private:
  void gap() {
    if (!out_.empty() && !out_.ends_with("\n\n")) out_ += "\n";
  }

  void block() {
    const std::string& line = lines_[at_];
    const std::string text = trimmed(line);
    if (text.empty()) return gap(), void(++at_);
    if (text.starts_with("<!--")) return skip_to("-->");
    if (text.starts_with("<details")) return details();
    if (text.starts_with("</details>")) return void(++at_);
    if (starts_with_fence(line)) return code();
    if (text[0] == '#') return heading(text);
    if (text == "---" || text == "***") return out_ += std::string(size_t(width_), '-') + "\n", void(++at_);
    if (text[0] == '|' && at_ + 1 < lines_.size() && trimmed(lines_[at_ + 1]).starts_with("|") &&
        lines_[at_ + 1].find("--") != std::string::npos)
      return table();
    paragraph();
  }

  void skip_to(const std::string& end) {
    while (at_ < lines_.size() && lines_[at_].find(end) == std::string::npos) ++at_;
    ++at_;
  }

  /// Folded hints: the summary alone, unless they are asked for.
  void details() {
    std::string summary;
    std::string first;
    for (; at_ < lines_.size(); ++at_) {
      const std::string& l = lines_[at_];
      summary += l;
      const size_t end = l.find("</summary>");
      if (end == std::string::npos) continue;
      first = l.substr(end + 10);
      break;
    }
    static const std::regex tags("<[^>]*>");
    const size_t end = summary.find("</summary>");
    summary = trimmed(std::regex_replace(summary.substr(0, end), tags, ""));
    if (at_ >= lines_.size()) return void(out_ += summary + "\n");  // never closed
    if (hints_) {
      out_ += inked(summary + ":", Ink::bold, on_) + "\n";
      if (const size_t close = first.find("</details>"); close != std::string::npos) {
        out_ += fill(trimmed(first.substr(0, close)), "", "", width_, Ink::plain, on_);
        ++at_;
        return;
      }
      lines_[at_] = trimmed(first);
      if (lines_[at_].empty()) ++at_;
      return;
    }
    if (first.find("</details>") == std::string::npos) {
      ++at_;
      skip_to("</details>");
    } else {
      ++at_;
    }
    out_ += inked("> " + summary + " (folded; --hints unfolds it)", Ink::dim, on_) + "\n";
  }

  void code() {
    const size_t indent = lines_[at_].find_first_not_of(' ');
    for (++at_; at_ < lines_.size() && !starts_with_fence(lines_[at_]); ++at_) {
      const std::string& l = lines_[at_];
      const size_t off = std::min(
          indent, l.find_first_not_of(' ') == std::string::npos ? l.size() : l.find_first_not_of(' '));
      if (trimmed(l).empty())
        out_ += "\n";
      else
        out_ += "    " + inked(l.substr(off), Ink::cyan, on_) + "\n";
    }
    ++at_;
  }

  void heading(const std::string& text) {
    const size_t level = text.find_first_not_of('#');
    ++at_;
    if (level == std::string::npos) return;
    const std::string title = plain(trimmed(text.substr(level)));
    gap();
    out_ += inked(title, Ink::bold, on_) + "\n";
    if (level <= 2)
      out_ += inked(std::string(size_t(columns_of(title)), level == 1 ? '=' : '-'), Ink::dim, on_) + "\n";
  }

  void table() {
    std::vector<std::string> rows;
    for (; at_ < lines_.size() && trimmed(lines_[at_]).starts_with("|"); ++at_) rows.push_back(lines_[at_]);
    out_ += set_table(rows, on_);
  }

  static bool starts_item(const std::string& line, std::smatch* m) {
    static const std::regex item(R"(^(\s*)([-*+]|\d+[.)])\s+(.*)$)");
    return std::regex_match(line, *m, item);
  }

  /// A paragraph, list item or quote: all its source lines, filled again.
  void paragraph() {
    std::string first, rest, text = lines_[at_];
    std::smatch m;
    if (starts_item(text, &m)) {
      const std::string mark = m[2].str();
      const std::string lead =
          m[1].str() + "  " + (std::isdigit(static_cast<unsigned char>(mark[0])) ? mark : "-") + " ";
      const std::string body = m[3].str();
      first = lead;
      rest = std::string(size_t(columns_of(lead)), ' ');
      text = body;
    } else if (trimmed(text)[0] == '>') {
      first = rest = "  | ";
      text = trimmed(trimmed(text).substr(1));
    }
    const bool quote = first == "  | ";
    for (++at_; at_ < lines_.size(); ++at_) {
      std::string next = trimmed(lines_[at_]);
      if (next.empty() || next[0] == '#' || next.starts_with("<details") || next.starts_with("</details") ||
          next.starts_with("<!--") || starts_with_fence(next) ||
          (!quote && (next[0] == '>' || next[0] == '|')))
        break;
      if (std::smatch again; starts_item(lines_[at_], &again)) break;
      if (quote && next[0] == '>') next = trimmed(next.substr(1));
      text += " " + next;
    }
    out_ += fill(trimmed(text), first, rest, width_, Ink::plain, on_);
  }

  bool hints_;
  int width_;
  const Paper& on_;
  std::vector<std::string> lines_;
  size_t at_ = 0;
  std::string out_;
};

/// Calls f(line, name) for each line, where name is the section it stands in ("" before the first).
template <class F>
void each_line(const std::string& markdown, F f) {
  std::istringstream in(markdown);
  std::string name;
  bool code = false;
  for (std::string line; std::getline(in, line);) {
    if (starts_with_fence(line)) code = !code;
    const bool heading = !code && line.starts_with("## ");
    if (heading) {
      name = trimmed(line.substr(3));
      name.erase(std::remove(name.begin(), name.end(), '`'), name.end());
      const size_t word = name.find_first_of(":, ");
      // A rung, cuda.01_naive, is known by its name alone; other headings are their own names.
      name = name.substr(0, name.substr(0, word).find('_') != std::string::npos ? word : name.find(": "));
    } else if (!code && line.starts_with("# ")) {
      name.clear();
    }
    f(line, name, heading);
  }
}

}  // namespace

std::string typeset(const std::string& markdown, const Typesetting& how, const Paper& on) {
  return Typesetter(markdown, how, on).run();
}

std::string section_of(const std::string& markdown, const std::string& name) {
  std::string found;
  // "4", "04", "cuda.04"
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const bool number = digits < name.size();
  const bool one = name.size() - digits == 1;
  const std::string prefix = name.substr(0, digits) + (one ? "0" : "") + name.substr(digits) + "_";
  each_line(markdown, [&](const std::string& line, const std::string& section, bool) {
    if (section == name || (number && section.starts_with(prefix))) found += line + "\n";
  });
  return found;
}

std::vector<std::string> section_names(const std::string& markdown) {
  std::vector<std::string> names;
  each_line(markdown, [&](const std::string&, const std::string& section, bool heading) {
    if (heading) names.push_back(section);
  });
  return names;
}

}  // namespace klab
