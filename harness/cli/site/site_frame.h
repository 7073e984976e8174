// The frame of every page of the site: head, navigation, contents of the page, footer; and what pages ask of the site around them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/cli/site/page_markdown.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/step/step.h"

namespace klab {

class SiteRecords;

/// Paths of pages below the folder of the site.
std::string lesson_page(const std::string& lab_id);  // lessons/05_matmul.html
std::string ladder_page(const std::string& lab_id);  // ladders/05_matmul.html
std::string step_page(const Step& step);             // steps/05.04.html
std::string trace_page_of(const Variant& variant);   // traces/matmul.cuda.01_naive.html
std::string trace_sheet_of(const Variant& variant);  // traces/matmul.cuda.01_naive.svg

/// Returns the address of one page as seen from another: "../steps/05.04.html".
std::string relative_address(const std::string& from, const std::string& to);

/// What a page asks of the site around it.
struct PageContext {
  SiteRecords& records;
  /// Returns the address of a path of the site, as seen from the page; empty if the site does not have it.
  std::function<std::string(const std::string& path)> to;
  /// Renders Markdown of the file with that name in the tree.
  std::function<RenderedPage(const std::string& markdown, const std::string& source)> render;
  /// Returns the address of a rung's section in its lesson; empty if there is none.
  std::function<std::string(const Variant& variant)> section;
};

/// Returns `text` as a link if the address is not empty.
std::string linked(const std::string& address, const std::string& html);

/// Returns a whole number with commas: "13,266".
std::string grouped(int64_t number);

/// Returns the pictures of a traced rung as a figure; empty if the site has none.
std::string sheet_figure(const PageContext& page, const Variant& variant, const std::string& caption);

struct SiteFrame {
  std::string site;                                      // its title
  std::vector<std::pair<std::string, std::string>> nav;  // text and path
  bool search = true;                                    // has a page for it
  bool alone = false;                                    // style and script stand in the page
  std::string made;                                      // the footer: plain text
};

/// Returns a page. `headings` become its contents if there are several; `extra` goes into the head.
std::string framed(const SiteFrame& frame, const std::string& path, const std::string& title,
                   const std::vector<PageHeading>& headings, const std::string& content,
                   const std::string& extra = "");

/// Style and script of the site, files next to its pages.
std::string site_css();
std::string site_js();

}  // namespace klab
