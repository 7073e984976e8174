#include "harness/cli/site/site_ladders.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cli/site/site_records.h"
#include "harness/core/source.h"
#include "harness/report/html_parts.h"

namespace klab {
namespace {

/// Returns whether the ladder is the one that the tour shows.
bool is_tour(const LadderView& view) {
  const LabOp* op = find_op(view.op);
  return op != nullptr &&
         std::ranges::any_of(op->bench, [&](const BenchShape& b) { return b.tour && b.name == view.size; });
}

/// Returns what a rung changes, as the header of its file says; empty if the file is not there.
std::string change_of(const Variant& v) {
  const auto file = source_root() / source_path(v);
  if (!std::filesystem::exists(file)) return "";
  const auto header = header_of(read_text(file));
  const auto at = header.find("CHANGE");
  return at == header.end() ? "" : at->second;
}

/// Returns text as HTML, with what stands between backquotes as code.
std::string with_code(const std::string& text) {
  std::string html = escaped(text);
  bool open = false;
  for (size_t at = 0; (at = html.find('`', at)) != std::string::npos; open = !open)
    html.replace(at, 1, open ? "</code>" : "<code>");
  return open ? html + "</code>" : html;
}

std::string rungs_html(const LabOp& op, const PageContext& page, int number) {
  HtmlTable table(fmt::format("rungs{}", number), {"rung", "changes", "step", "read", "recorded"});
  table.keep({0, 2, 4});
  for (const Variant* v : variants_of(op.op.name)) {
    const auto step = std::ranges::find(steps(), v, &Step::own);
    const std::string section = page.section(*v), trace = page.to(trace_page_of(*v));
    std::string read = section.empty() ? "" : linked(section, "lesson");
    if (!trace.empty()) read += (read.empty() ? "" : ", ") + linked(trace, "trace");
    const bool timed = std::ranges::any_of(page.records.machines(), [&](const RecordedMachine& m) {
      return std::ranges::any_of(m.rows.rows, [&](const Row& r) { return r.variant == v->id; });
    });
    std::string recorded = page.records.waits(*v);
    if (recorded.empty()) recorded = timed ? "below" : v->peer ? "" : "not measured on any recorded machine";
    const std::string name = (v->branch() ? "└ " : "") + v->backend + "." + v->rung;
    table.add({HtmlCell{"<code>" + escaped(name) + "</code>", "", ""},
               HtmlCell{v->peer ? "a vendor's library, timed for comparison" : with_code(change_of(*v)), "",
                        "wide"},
               HtmlCell{step == steps().end() ? "" : linked(page.to(step_page(*step)), escaped(step->name)),
                        "", ""},
               HtmlCell{read, "", ""}, HtmlCell::text(recorded, timed ? "wrap" : "wrap open")},
              v->peer ? "peer" : "");
  }
  return table.html(false);
}

}  // namespace

SiteLadders::SiteLadders(SiteRecords& records) {
  for (const RecordedMachine& m : records.machines()) {
    OfMachine of{m.name, "machines/" + m.fingerprint + ".html", ladder_views(m.rows.rows), {}};
    machines_.push_back(std::move(of));
  }
  for (OfMachine& m : machines_)
    for (const LadderView& view : m.ladders)
      if (is_tour(view)) m.plots[&view] = plots_.ladder(view);
  if (std::ranges::any_of(machines_, [](const OfMachine& m) { return !m.plots.empty(); })) plots_.draw();
}

/// Returns the recorded ladders of an op: a plot of the tour's size, and all sizes as a table, machine by machine.
std::string SiteLadders::measured(const std::string& op, const PageContext& page, int number) const {
  std::string html;
  for (const OfMachine& m : machines_) {
    HtmlTable table(fmt::format("ladder{}", number++), {"rung", "size", "time", "±", "rate", "of ceiling",
                                                        "naive", "parent", "peer", "error of bound"});
    table.keep({0, 1, 2, 6});
    std::string figure;
    bool any = false;
    for (const LadderView& view : m.ladders) {
      if (view.op != op) continue;
      for (const Row* r : view.rows) {
        std::vector<HtmlCell> cells = {HtmlCell::code(short_name(*r)), HtmlCell::text(view.size, "size")};
        timed_cells(cells, view, *r);
        table.add(std::move(cells));
        any = true;
      }
      const auto plot = m.plots.find(&view);
      const std::string svg = plot == m.plots.end() ? "" : plots_.svg(plot->second);
      if (!svg.empty())
        figure += fmt::format(
            "<figure>{}<figcaption>{}: {}; × over the first rung. Red: the ceiling.</figcaption></figure>\n",
            svg, escaped(view.size), escaped(view.shape));
    }
    if (any)
      html += fmt::format("<h3>On {}</h3>\n", linked(page.to(m.path), escaped(m.name))) + figure +
              table.html(false);
  }
  return html;
}

std::string SiteLadders::html(const Lab& lab, const PageContext& page,
                              std::vector<PageHeading>& headings) const {
  const std::string title = "Ladders: " + lab.title;
  headings.push_back({1, title, ""});
  std::string html = fmt::format(
      "<p class=\"where\">{} · {}</p>\n<h1>{}</h1>\n<p>{}</p>\n<p class=\"note\">Times are recorded rows, "
      "medians with the farther end of their 95 % interval; speedups are over the first rung (naive), the "
      "rung it was made from (parent), and the fastest library (peer). A time belongs to the machine that is "
      "named above it. A click on a heading sorts.</p>\n",
      linked(page.to(lesson_page(lab.id)), "the lesson"),
      linked(page.to("steps/index.html") + "#" + lab.id, "its steps"), escaped(title), escaped(lab.question));
  int number = 0;
  for (const LabOp& op : lab.ops) {
    ++number;
    headings.push_back({2, op.op.name, op.op.name});
    html += fmt::format("<h2 id=\"{0}\"><a href=\"#{0}\"><code>{0}</code></a></h2>\n", escaped(op.op.name)) +
            rungs_html(op, page, number) + measured(op.op.name, page, 1000 * number);
  }
  if (lab.ops.empty()) html += "<p>This lab has no operations of its own.</p>\n";
  return html;
}

}  // namespace klab
