// Renders the Markdown of lessons and docs as HTML, with what a page of the site needs next to it: headings, text to search.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace klab {

/// What the renderer asks about the page around it. Functions that are empty change nothing.
struct PageSurroundings {
  /// Returns the address of a link's target; empty if the site has no such page, and the link becomes text.
  std::function<std::string(const std::string& target)> link;
  std::function<std::string(const std::string& file)>
      picture;  // the address of a picture; empty: it is named, not shown
  /// Returns a piece of plain text as HTML. Headings, code, links and folded answers are not given to it.
  std::function<std::string(const std::string& text, bool emphasized)> text;
  std::function<std::string(const std::string& heading)>
      behind_heading;  // HTML to put there; the heading as plain text
};

struct PageHeading {
  int level = 1;
  std::string text;  // without markup
  std::string id;    // as GitHub makes it, so that links between pages are the same there and here
};

/// The plain text below one heading, for the search. Blocks of code and folded answers are left out.
struct PageSection {
  std::string heading, id;
  std::string text;
};

struct RenderedPage {
  std::string html;
  std::vector<PageHeading> headings;
  std::vector<PageSection> sections;
};

RenderedPage rendered(const std::string& markdown, const PageSurroundings& around);

/// Returns the id that GitHub gives a heading: "07_carry: lines that begin" is "07_carry-lines-that-begin".
std::string heading_id(const std::string& heading);

}  // namespace klab
