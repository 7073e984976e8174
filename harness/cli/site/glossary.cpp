#include "harness/cli/site/glossary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "harness/cli/site/page_markdown.h"
#include "harness/report/ladder_view.h"

namespace klab {
namespace {

/// Words that lessons also use in their everyday sense: a link there would explain something else.
constexpr const char* kEveryday[] = {"branch", "gather",  "margin", "peer",    "plan",
                                     "rank",   "request", "round",  "session", "step"};

std::string lower_case(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Returns whether a word may continue with this character, so that "sector" is not found in "sectors/request".
bool continues(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) != 0 || c == '_' || c == '-' || c == '/';
}

/// Returns the length of the form at this place, with the ending of a plural; 0 if another word stands there.
size_t length_at(const std::string& text, size_t at, const std::string& form) {
  if (at > 0 && continues(text[at - 1])) return 0;
  for (const char* ending : {"", "s", "es"}) {
    const size_t length = form.size() + std::string_view(ending).size();
    if (text.compare(at + form.size(), length - form.size(), ending) != 0) continue;
    if (at + length == text.size() || !continues(text[at + length])) return length;
  }
  return 0;
}

std::string trimmed_cell(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

}  // namespace

std::string term_id(const std::string& entry_id) { return "term-" + entry_id; }

std::vector<GlossaryEntry> glossary_in(const std::string& markdown) {
  std::vector<GlossaryEntry> entries;
  std::istringstream in(markdown);
  for (std::string line; std::getline(in, line);) {
    const size_t end = line.find("** |");
    if (!line.starts_with("| **") || end == std::string::npos) continue;
    GlossaryEntry e{.word = line.substr(4, end - 4), .id = "", .meaning = "", .forms = {}};
    const size_t last = line.rfind('|');
    e.meaning = trimmed_cell(line.substr(end + 4, last > end + 4 ? last - end - 4 : std::string::npos));
    e.id = heading_id(e.word);
    std::istringstream words(e.word);
    for (std::string form; std::getline(words, form, ',');) e.forms.push_back(lower_case(trimmed_cell(form)));
    e.everyday = std::ranges::find(kEveryday, e.word) != std::end(kEveryday);
    entries.push_back(std::move(e));
  }
  return entries;
}

/// Returns the first word that is not linked yet; of two at one place the longer one.
GlossaryLinks::Found GlossaryLinks::first_in(const std::string& lower, size_t from, bool emphasized) const {
  Found best;
  for (const GlossaryEntry& e : entries_) {
    if (linked_.contains(e.id) || (e.everyday && !emphasized)) continue;
    for (const std::string& form : e.forms)
      for (size_t at = lower.find(form, from); at != lower.npos; at = lower.find(form, at + 1)) {
        const size_t length = length_at(lower, at, form);
        if (length == 0) continue;
        if (best.entry == nullptr || at < best.at || (at == best.at && length > best.length))
          best = {at, length, &e};
        break;
      }
  }
  return best;
}

std::string GlossaryLinks::html(const std::string& text, bool emphasized) {
  std::string out;
  size_t done = 0;
  const std::string lower = lower_case(text);
  while (done < text.size()) {
    const Found found = first_in(lower, done, emphasized);
    if (found.entry == nullptr) break;
    const size_t at = found.at;
    linked_.insert(found.entry->id);
    std::string meaning = found.entry->meaning;  // without emphasis and code: a hint holds plain text
    std::erase_if(meaning, [](char c) { return c == '*' || c == '`'; });
    out += escaped(text.substr(done, at - done));
    out += fmt::format("<a class=\"term\" id=\"{}\" href=\"{}#{}\" title=\"{}\">{}</a>",
                       term_id(found.entry->id), address_, found.entry->id, escaped(meaning),
                       escaped(text.substr(at, found.length)));
    done = at + found.length;
  }
  return out + escaped(text.substr(done));
}

}  // namespace klab
