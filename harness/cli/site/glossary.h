// The words of docs/glossary.md: found in the text of pages, linked to their entries, and from there back.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace klab {

struct GlossaryEntry {
  std::string word;                // "as written, as compiled"
  std::string id;                  // of its entry on the page
  std::string meaning;             // Markdown
  std::vector<std::string> forms;  // "as written", "as compiled"
  bool everyday = false;  // has another meaning in everyday language: linked only where a text emphasizes it
};

/// Returns the rows "| **word** | meaning |" of a page.
std::vector<GlossaryEntry> glossary_in(const std::string& markdown);

/// Links the first occurrence of each word on one page.
class GlossaryLinks {
 public:
  /// `address` is that of the glossary, seen from the page.
  GlossaryLinks(const std::vector<GlossaryEntry>& entries, std::string address)
      : entries_(entries), address_(std::move(address)) {}

  /// Returns text as HTML with its words linked. The link of a word has the id term_id(entry).
  std::string html(const std::string& text, bool emphasized);

  /// Returns the ids of the entries that were linked.
  const std::set<std::string>& linked() const { return linked_; }

 private:
  struct Found {
    size_t at = 0, length = 0;
    const GlossaryEntry* entry = nullptr;
  };
  Found first_in(const std::string& lower, size_t from, bool emphasized) const;

  const std::vector<GlossaryEntry>& entries_;
  std::string address_;
  std::set<std::string> linked_;
};

/// Returns the id that the linked word has on its page.
std::string term_id(const std::string& entry_id);

}  // namespace klab
