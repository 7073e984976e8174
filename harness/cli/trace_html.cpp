// The page of `klab trace`: one file, in light and dark mode, readable on a phone.
#include <fmt/core.h>

#include <algorithm>

#include "harness/check/cases.h"
#include "harness/cli/trace_text.h"
#include "harness/core/source.h"
#include "harness/report/assets.h"
#include "harness/report/html_parts.h"
#include "harness/simt/gpus.h"

namespace klab {
namespace {

/// Additions to the report's style: source keeps its spaces and breaks its longest lines, so that all
/// counters are visible on a page of ordinary width.
constexpr const char* kStyle = R"(
td.src { white-space: pre-wrap; overflow-wrap: anywhere; min-width: 22rem; font: .82rem/1.35 ui-monospace, "DejaVu Sans Mono", monospace; }
tr.quiet td { color: var(--dim); border-bottom-color: transparent; }
tr.bad td.n:nth-last-child(n+2) { color: var(--bad); font-weight: 600; }
tr.open td.n:nth-last-child(n+2) { color: var(--open); }
.hint { border-left: 3px solid var(--open); padding: .1rem .8rem; margin: .5rem 0; max-width: 52rem; }
)";

std::string per_request(int64_t count, const simt::Counts& n) {
  return n.requests > 0 ? fmt::format("{:.1f}", double(count) / double(n.requests)) : "";
}

std::string style_of(const LineCounts& l) {
  const int64_t cost = l.counts.sectors + l.counts.wavefronts;
  return l.excess() * 2 > cost ? "bad" : l.excess() * 5 > cost ? "open" : "";
}

HtmlCell number(double value, const std::string& shown) { return HtmlCell::number(value, shown); }

std::vector<HtmlCell> html_cells_of(const LineCounts& l) {
  const simt::Counts& n = l.counts;
  const bool global = l.space == simt::Space::global;
  const auto ratio = [&](int64_t count) { return n.requests > 0 ? double(count) / double(n.requests) : 0; };
  return {HtmlCell::text(fmt::format("{} {} B", kind_of(l), l.width)),
          number(double(n.requests), std::to_string(n.requests)),
          number(ratio(n.lanes), per_request(n.lanes, n)),
          global ? number(ratio(n.sectors), per_request(n.sectors, n)) : HtmlCell::text(""),
          global ? number(ratio(n.ideal_sectors), per_request(n.ideal_sectors, n)) : HtmlCell::text(""),
          global ? HtmlCell::text("") : number(ratio(n.conflicts()), per_request(n.conflicts(), n)),
          number(double(l.excess()), std::to_string(l.excess()))};
}

/// Returns the cells of an access, with nvcc's instructions if machine code was read.
std::vector<HtmlCell> html_cells_of(const TraceView& v, const LineCounts& l) {
  std::vector<HtmlCell> cells = html_cells_of(l);
  if (!v.run.compiled_by.empty()) cells.push_back(number(double(l.compiled.requests), compiled_in_words(l)));
  return cells;
}

const std::vector<std::string> kHeads = {"access",   "requests",  "lanes",      "sectors/request",
                                         "would do", "conflicts", "beyond need"};
void add_heads(const TraceView& v, std::vector<std::string>& heads) {
  heads.insert(heads.end(), kHeads.begin(), kHeads.end());
  if (!v.run.compiled_by.empty()) heads.emplace_back("compiled");
}

std::string source_html(const TraceView& v) {
  std::string html;
  int number_of_table = 0;
  for (const SourceView& view : annotated_source(v.run)) {
    std::vector<std::string> heads = {"line", "source"};
    add_heads(v, heads);
    HtmlTable table(fmt::format("source{}", number_of_table++), heads);
    for (const SourceRow& row : view.rows) {
      const HtmlCell line = number(row.number, std::to_string(row.number));
      const HtmlCell source{escaped(row.text), "", "src"};
      if (row.counts.empty()) {
        std::vector<HtmlCell> cells = {line, source};
        cells.resize(heads.size(), HtmlCell::text(""));
        table.add(std::move(cells), "quiet");
      }
      for (size_t k = 0; k < row.counts.size(); ++k) {
        std::vector<HtmlCell> cells = {k == 0 ? line : HtmlCell::text(""),
                                       k == 0 ? source : HtmlCell::text("")};
        for (HtmlCell& cell : html_cells_of(v, *row.counts[k])) cells.push_back(std::move(cell));
        table.add(std::move(cells), style_of(*row.counts[k]));
      }
    }
    html += fmt::format("<h3><code>{}</code></h3>\n", escaped(view.file)) + table.html(false);
  }
  return html;
}

std::string worst_html(const TraceView& v) {
  std::vector<std::string> heads = {"line"};
  add_heads(v, heads);
  HtmlTable table("worst", heads);
  for (const LineCounts* l : worst_first(v.run)) {
    std::vector<HtmlCell> cells = {number(l->line, std::to_string(l->line))};
    for (HtmlCell& cell : html_cells_of(v, *l)) cells.push_back(std::move(cell));
    table.add(std::move(cells), style_of(*l));
  }
  return "<h2>Worst first</h2>\n<p class=\"note\">Beyond need: sectors and passes through shared memory that "
         "another "
         "order of the same accesses would save. A click on a heading sorts.</p>\n" +
         table.html(false);
}

std::string hints_html(const TraceView& v) {
  std::string html = "<h2>Hints</h2>\n";
  if (v.hints.empty())
    return html + "<p>None: every request moves about as little as its lanes ask for.</p>\n";
  for (const Hint& h : v.hints) {
    html += fmt::format("<p class=\"hint\"><b>Line {}</b>: {}.", h.line, escaped(h.text));
    if (const Variant* rung = h.rung.empty() ? nullptr : find_variant(h.rung); rung != nullptr) {
      const Lab* lab = lab_of(rung->op);
      html += fmt::format(" <code>{}</code> no longer does that: <code>klab explain {} {}</code>",
                          escaped(rung->rung), lab ? lab->id.substr(0, lab->id.find('_')) : rung->op,
                          escaped(section_name(*rung)));
    }
    html += "</p>\n";
  }
  return html;
}

std::string launches_html(const TraceView& v) {
  std::vector<std::string> heads = {"kernel", "launches", "grid", "block", "shared bytes", "registers"};
  for (const simt::GpuModel& g : simt::gpus()) heads.push_back(fmt::format("occupancy {}", g.short_name));
  HtmlTable table("launches", heads);
  for (const simt::LaunchRecord& l : v.run.launches) {
    const KernelResources* r = resources_of(v.run.variant, l.kernel);
    const int registers = r == nullptr ? 0 : r->registers;
    const size_t shared = l.static_shared + l.dynamic_shared;
    const unsigned threads = l.block[0] * l.block[1] * l.block[2];
    std::vector<HtmlCell> cells = {
        HtmlCell::code(l.kernel),
        number(double(l.times), std::to_string(l.times)),
        HtmlCell::text(fmt::format("{} x {} x {}", l.grid[0], l.grid[1], l.grid[2])),
        HtmlCell::text(fmt::format("{} x {} x {}", l.block[0], l.block[1], l.block[2])),
        number(double(shared), std::to_string(shared)),
        number(registers, registers ? std::to_string(registers) : "not known")};
    for (const simt::GpuModel& g : simt::gpus()) {
      const double filled = simt::occupancy(g, threads, registers, shared).fraction;
      cells.push_back(shared > g.shared_per_block ? HtmlCell::text("does not fit")
                                                  : number(filled, fmt::format("{:.0f} %", 100 * filled)));
    }
    table.add(std::move(cells));
  }
  std::string html = "<h2>Launches</h2>\n" + table.html(false);
  if (!v.no_resources.empty())
    html += "<p class=\"note\">Registers are not known, and limit nothing here: " + escaped(v.no_resources) +
            ".</p>\n";
  return html;
}

std::string counters_html(const TraceView& v) {
  const bool both = !v.run.compiled_by.empty();
  std::vector<std::string> heads = {"counter", both ? "as written" : "value"};
  if (both) heads.emplace_back("as compiled");
  heads.emplace_back("in Nsight Compute");
  HtmlTable table("counters", heads);
  const auto shown = [](double value, bool ratio) {
    return number(value, ratio ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value));
  };
  const std::vector<NamedCounter> compiled = named_counters(v.run, true);
  for (const NamedCounter& c : named_counters(v.run)) {
    std::vector<HtmlCell> cells = {HtmlCell::text(c.words), shown(c.value, c.ratio)};
    const auto at = std::ranges::find(compiled, c.nsight, &NamedCounter::nsight);
    if (both) cells.push_back(shown(at == compiled.end() ? 0 : at->value, c.ratio));
    cells.push_back(HtmlCell::code(c.nsight));
    table.add(std::move(cells));
  }
  std::string html = "<h2>Counters</h2>\n" + table.html(false);
  if (both)
    html += "<p class=\"note\">Compiled: requests and widths of the instructions by " +
            escaped(v.run.compiled_by) + ".</p>\n";
  else if (!v.run.no_compiled.empty())
    html += "<p class=\"note\">As compiled: not known, " + escaped(v.run.no_compiled) + ".</p>\n";
  if (!v.units.empty()) {
    HtmlTable units("units", {"kernel", "line", "instructions", "as compiled"});
    for (const UnitInstruction& u : v.units)
      units.add({HtmlCell::code(u.kernel), HtmlCell::text(fmt::format("{}:{}", u.what.file, u.what.line)),
                 number(u.what.instructions, std::to_string(u.what.instructions)),
                 HtmlCell::code(u.what.name)});
    html += "<h3>Copy engine, products, barriers</h3>\n" + units.html(false);
  }
  if (v.op == nullptr)
    return html +
           fmt::format("<p>Bytes moved between L1 and L2, if L1 catches nothing: {:.0f}.</p>\n", v.run.moved);
  return html +
         fmt::format(
             "<p>Bytes moved between L1 and L2, if L1 catches nothing: {:.0f}. Compulsory by the contract: "
             "{:.0f}.</p>\n",
             v.run.moved, v.run.compulsory.bytes);
}

}  // namespace

const char* trace_style() { return kStyle; }

std::string trace_html_tables(const TraceView& v) {
  return "<h2>Source</h2>\n" + source_html(v) + worst_html(v) + launches_html(v) + counters_html(v);
}

std::string trace_page(const std::string& title, const std::string& small_print, const std::string& content) {
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
             "content=\"width=device-width, initial-scale=1\">\n<title>{0}: trace</title>\n<link "
             "rel=\"icon\" "
             "href=\"data:,\">\n<style>\n{1}{2}</style>\n</head>\n<body>\n<h1>{0}</h1>\n"
             "<p class=\"dim\">{3}</p>\n",
             escaped(title), report_css(), kStyle, small_print) +
         content +
         fmt::format(
             "<footer>Made by klab trace. Counts are exact and the same on every machine.</footer>\n"
             "<script>\n{}</script>\n</body>\n</html>\n",
             report_js());
}

std::string trace_html(const TraceView& v) {
  std::string html;
  for (const simt::Finding& f : v.run.findings)
    html += "<p class=\"bad\">" + escaped(f.describe()) + "</p>\n";
  if (!v.run.error.empty()) html += "<p class=\"bad\">" + escaped(v.run.error) + "</p>\n";
  return trace_page(
      v.variant->id,
      fmt::format("{}; seed {}; run on the host, every access watched, within the limits of {}.",
                  escaped(shape_text(v.op->op, v.run.shape)), v.run.seed, simt::named_gpu().name),
      html + hints_html(v) + v.pictures + trace_html_tables(v));
}

}  // namespace klab
