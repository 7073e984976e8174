// Formats a lesson page for a terminal or a pipe.
#pragma once

#include <string>
#include <vector>

#include "harness/report/table.h"

namespace klab {

struct Lab;

struct Typesetting {
  bool hints = false;  // show the contents of <details>
  int width = 100;     // columns; text uses at most 88 of them, which is comfortable to read
};

/// Formats the Markdown that lesson pages use: headings, paragraphs, lists, quotes, tables, fenced code,
/// emphasis, links, pictures (named, not drawn) and <details>. Anything else is printed unchanged.
std::string typeset(const std::string& markdown, const Typesetting& how, const Paper& on = paper());

/// Returns the sections "## <name>..." of a page whose first word begins with `name` up to a word's end or,
/// for a number, up to "_": section_of(page, "04") finds "## 04_cache_tile: ...". Empty if there is none.
std::string section_of(const std::string& markdown, const std::string& name);

/// Folds the code blocks in the level-2 sections whose first word is one of `names`, as hints are folded: their readers are
/// to write that code themselves.
std::string with_code_folded(const std::string& markdown, const std::vector<std::string>& names);

/// Returns the names of the sections that hold answers: those of rungs that a learner makes from another one.
std::vector<std::string> answers_of(const Lab& lab);

/// Returns the first words of all level-2 headings, without backticks and colon.
std::vector<std::string> section_names(const std::string& markdown);

}  // namespace klab
