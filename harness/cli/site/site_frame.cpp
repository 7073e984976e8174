#include "harness/cli/site/site_frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/site/site_assets.h"
#include "harness/cli/trace_text.h"
#include "harness/report/assets.h"
#include "harness/report/ladder_view.h"

namespace klab {
namespace {

/// Returns the contents of a page: headings of the second and third level, where there are enough to choose from.
std::string contents(const std::vector<PageHeading>& headings) {
  constexpr size_t kFewest = 3;
  std::string list;
  size_t count = 0;
  for (const PageHeading& h : headings) {
    if (h.level > 2) continue;
    if (h.level == 1 && &h == &headings.front()) continue;
    ++count;
    list += fmt::format("<li{}><a href=\"#{}\">{}</a></li>\n", h.level == 1 ? " class=\"part\"" : "", h.id,
                        escaped(h.text));
  }
  if (count < kFewest) return "";
  return "<aside class=\"contents\"><details><summary>On this page</summary>\n<ul>\n" + list +
         "</ul></details></aside>\n";
}

}  // namespace

std::string lesson_page(const std::string& lab_id) { return "lessons/" + lab_id + ".html"; }
std::string ladder_page(const std::string& lab_id) { return "ladders/" + lab_id + ".html"; }
std::string step_page(const Step& step) { return "steps/" + step.name + ".html"; }
std::string trace_page_of(const Variant& variant) { return "traces/" + variant.id + ".html"; }

std::string trace_sheet_of(const Variant& variant) { return "traces/" + variant.id + ".svg"; }

std::string sheet_figure(const PageContext& page, const Variant& variant, const std::string& caption) {
  const std::string to = page.to(trace_sheet_of(variant));
  if (to.empty()) return "";
  return fmt::format(
      "<figure class=\"sheet-of-trace\"><img loading=\"lazy\" src=\"{}\" alt=\"{}: what its trace recorded: "
      "{}\">"
      "<figcaption>{}</figcaption></figure>\n",
      escaped(to), escaped(variant.id), "banks, sectors of arrays, steps of warps, lanes", escaped(caption));
}

std::string relative_address(const std::string& from, const std::string& to) {
  std::string up;
  for (size_t k = 0; k < size_t(std::ranges::count(from, '/')); ++k) up += "../";
  return up + to;
}

std::string linked(const std::string& address, const std::string& html) {
  return address.empty() ? html : fmt::format("<a href=\"{}\">{}</a>", escaped(address), html);
}

std::string grouped(int64_t number) {
  std::string text = std::to_string(number < 0 ? -number : number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return (number < 0 ? "-" : "") + text;
}

std::string framed(const SiteFrame& frame, const std::string& path, const std::string& title,
                   const std::vector<PageHeading>& headings, const std::string& content,
                   const std::string& extra) {
  const auto to = [&](const std::string& page) { return relative_address(path, page); };
  std::string nav;
  for (const auto& [text, page] : frame.nav)
    nav += fmt::format("<a href=\"{}\"{}>{}</a>\n", to(page), page == path ? " aria-current=\"page\"" : "",
                       escaped(text));
  const std::string assets =
      frame.alone ? fmt::format("<style>\n{}</style>\n", site_css())
                  : fmt::format("<link rel=\"stylesheet\" href=\"{}\">\n<script defer src=\"{}\"></script>\n",
                                to("site.css"), to("site.js"));
  const std::string search =
      frame.search ? fmt::format(
                         "<form action=\"{}\" method=\"get\" role=\"search\"><input type=\"search\" "
                         "name=\"q\" placeholder=\"search\" aria-label=\"search\"></form>\n",
                         to("search.html"))
                   : "";
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{0}{1}</title>\n<link rel=\"icon\" "
      "href=\"data:,\">\n{3}{2}</head>\n<body>\n<header class=\"top\"><a class=\"home\" "
      "href=\"{4}\">{5}</a>\n<nav>{6}</nav>\n{7}</header>\n<div class=\"sheet\">\n{8}<main>\n{9}</main>\n"
      "</div>\n<footer>{10}</footer>\n{11}</body>\n</html>\n",
      escaped(title), title == frame.site ? "" : " · " + escaped(frame.site), assets, extra, to("index.html"),
      escaped(frame.site), nav, search, contents(headings), content, escaped(frame.made),
      frame.alone ? fmt::format("<script>\n{}</script>\n", site_js()) : "");
}

std::string site_css() { return std::string(report_css()) + trace_style() + site_style(); }
std::string site_js() { return std::string(report_js()) + site_script(); }

}  // namespace klab
