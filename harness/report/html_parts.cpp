#include "harness/report/html_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/report/table.h"
#include "harness/simt/occupancy.h"

namespace klab {
namespace {

HtmlCell times_cell(const std::optional<Estimate>& e) {
  if (!e) return HtmlCell::text("");
  HtmlCell cell = HtmlCell::number(e->value, three_digits(e->value) + "×");
  cell.html = fmt::format("<span title=\"{} to {}\">{}</span>", three_digits(e->low), three_digits(e->high),
                          cell.html);
  return cell;
}

/// Further plots of an op are folded away.
constexpr size_t kPlotsShown = 4;

std::string figure(const std::string& svg, const std::string& caption) {
  if (svg.empty()) return "";
  return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, caption);
}

std::string predictions_html(const LadderView& view) {
  std::string html;
  for (const Row* r : view.rows) {
    if (r->verdict.empty() || !r->expected) continue;
    html += fmt::format(
        "<li><code>{}</code> predicted {}× over its parent at {}: <span class=\"{}\">{}</span></li>",
        escaped(short_name(*r)), three_digits(*r->expected), escaped(view.size),
        r->verdict == "held"       ? "good"
        : r->verdict == "not held" ? "bad"
                                   : "open",
        escaped(r->verdict));
  }
  return html.empty() ? "" : "<ul class=\"note\">" + html + "</ul>\n";
}

/// Describes the occupancy on the GPUs that a row has it for, fullest first: "100 %: h100 a100, 67 %: 4090".
std::string occupancy_words(const Row& row) {
  std::map<int64_t, std::string, std::greater<>> by_percent;
  for (const auto& [name, percent] : row.needs)
    if (name.starts_with(kOccupancyOf)) by_percent[percent] += " " + name.substr(kOccupancyOf.size());
  std::string text;
  for (const auto& [percent, names] : by_percent)
    text += fmt::format("{}{} %:{}", text.empty() ? "" : ", ", percent, names);
  return text;
}

std::string counts_html(const LadderView& view, int number) {
  std::map<std::string, bool> names, needs;
  for (const Row* r : view.rows) {
    for (const auto& [name, count] : r->counts) names[name] = true;
    if (r->counts.empty()) continue;
    for (const auto& [name, need] : r->needs)
      if (!name.starts_with(kOccupancyOf)) needs[name] = true;
  }
  if (names.empty()) return "";
  std::vector<std::string> heads = {"rung"};
  for (const auto& [name, any] : names) heads.push_back(name);
  for (const auto& [name, any] : needs) heads.push_back(name);
  const bool occupied = needs.contains("registers");
  if (occupied) heads.push_back("occupancy");
  HtmlTable table(fmt::format("counts{}", number), heads);
  for (const Row* r : view.rows) {
    if (r->counts.empty()) continue;
    std::vector<HtmlCell> cells = {HtmlCell::code(short_name(*r))};
    const auto add = [&](const std::map<std::string, bool>& columns,
                         const std::map<std::string, int64_t>& of) {
      for (const auto& [name, any] : columns) {
        const auto at = of.find(name);
        cells.push_back(at == of.end() ? HtmlCell::text("")
                                       : HtmlCell::number(double(at->second), std::to_string(at->second)));
      }
    };
    add(names, r->counts);
    add(needs, r->needs);
    if (occupied) cells.push_back(HtmlCell::text(occupancy_words(*r)));
    table.add(std::move(cells));
  }
  return fmt::format("<p class=\"note\">Counted exactly, CUDA threads run on the host: {}.</p>\n",
                     escaped(view.shape)) +
         table.html(false);
}

std::string claims_html(const std::string& lab, const std::vector<LadderView>& ladders) {
  const auto results = claim_results(lab, ladders);
  if (results.empty()) return "";
  HtmlTable table("claims" + lab, {"claim", "by whom", "claimed", "measured here", "on", "rungs"});
  for (const ClaimResult& r : results) {
    const Claim& c = *r.claim;
    const bool inside = r.ratio && r.ratio->high >= c.low && r.ratio->low <= c.high;
    table.add({HtmlCell::text(c.text), HtmlCell::text(c.by, "wide"),
               HtmlCell::number(c.low, fmt::format("{}–{}×", three_digits(c.low), three_digits(c.high))),
               r.ratio
                   ? HtmlCell::number(r.ratio->value,
                                      fmt::format("{}× ({}–{})", three_digits(r.ratio->value),
                                                  three_digits(r.ratio->low), three_digits(r.ratio->high)),
                                      inside                    ? ""
                                      : r.ratio->value > c.high ? "good"
                                                                : "open")
                   : HtmlCell::text("not run here", "dim"),
               HtmlCell::text(r.size), HtmlCell::code(c.variant + " / " + c.over)});
  }
  return "<h3>Claimed and measured</h3>\n" + table.html(false);
}

/// Returns "72 % of DRAM" from "72 % of DRAM of NVIDIA H200": the page names the card, and a row has to fit 1400 pixels.
std::string without_card(const std::string& share) { return share.substr(0, share.find(" of NVIDIA")); }

}  // namespace

HtmlCell HtmlCell::text(const std::string& text, const std::string& style) {
  return {escaped(text), "", style};
}
HtmlCell HtmlCell::code(const std::string& text) { return {"<code>" + escaped(text) + "</code>", "", ""}; }
HtmlCell HtmlCell::number(double value, const std::string& shown, const std::string& style) {
  return {escaped(shown), fmt::format("{:.6g}", value), style.empty() ? "n" : "n " + style};
}

void HtmlTable::add(std::vector<HtmlCell> cells, const std::string& style) {
  rows_.push_back(std::move(cells));
  styles_.push_back(style);
}

std::string HtmlTable::style_of(size_t column, const std::string& style) const {
  if (kept_.empty() || std::ranges::find(kept_, column) != kept_.end()) return style;
  return style.empty() ? "more" : style + " more";
}

std::string HtmlTable::html(bool filter) const {
  std::string html;
  if (filter)
    html += fmt::format(
        "<div class=\"filter\"><input type=\"search\" data-table=\"{}\" placeholder=\"filter: matmul "
        "512 threads\" aria-label=\"filter\"><span class=\"count dim\"></span></div>\n",
        id_);
  html += fmt::format("<div class=\"scroll{}\"><table class=\"sortable\" id=\"{}\"><thead><tr>",
                      rows_.size() > 30 ? " tall" : "", id_);
  for (size_t i = 0; i < heads_.size(); ++i) {
    bool numeric = false;
    for (const auto& row : rows_) numeric = numeric || (i < row.size() && !row[i].sort.empty());
    const std::string style = style_of(i, numeric ? "n" : "");
    std::string head = escaped(heads_[i]);  // a long name may be broken behind its underscores
    for (size_t at = 0; (at = head.find('_', at)) != std::string::npos; at += 6)
      head.replace(at, 1, "_<wbr>");
    html += fmt::format("<th{}>{}</th>", style.empty() ? "" : " class=\"" + style + "\"", head);
  }
  html += "</tr></thead><tbody>\n";
  for (size_t r = 0; r < rows_.size(); ++r) {
    html += styles_[r].empty() ? "<tr>" : fmt::format("<tr class=\"{}\">", styles_[r]);
    for (size_t i = 0; i < rows_[r].size(); ++i) {
      const HtmlCell& c = rows_[r][i];
      const std::string style = style_of(i, c.style);
      html += fmt::format("<td{}{}>{}</td>", style.empty() ? "" : fmt::format(" class=\"{}\"", style),
                          c.sort.empty() ? "" : fmt::format(" data-v=\"{}\"", c.sort), c.html);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

void timed_cells(std::vector<HtmlCell>& cells, const LadderView& view, const Row& r) {
  const double away = std::max(r.time.high - r.time.value, r.time.value - r.time.low) / r.time.value;
  cells.push_back(HtmlCell::number(r.time.value, seconds_text(r.time.value)));
  cells.push_back(HtmlCell::number(away, fmt::format("{:.1f} %", 100 * away), "dim"));
  const double rate = view.rate(r) * 1e-9;
  cells.push_back(HtmlCell::number(rate, three_digits(rate) + " " + view.unit()));
  if (!r.error.empty() && r.of_ceiling)
    cells.push_back(HtmlCell::number(r.of_ceiling->value,
                                     fmt::format("{:.0f} %: error", 100 * r.of_ceiling->value), "bad"));
  else if (r.of_ceiling)
    cells.push_back(HtmlCell::number(r.of_ceiling->value, escaped(without_card(view.share_text(r))), "wrap"));
  else
    cells.push_back(HtmlCell::text(escaped(view.share_text(r))));
  cells.push_back(times_cell(r.over_naive));
  cells.push_back(times_cell(r.over_parent));
  cells.push_back(times_cell(r.over_peer));
  cells.push_back(r.worst_error
                      ? HtmlCell::number(*r.worst_error, fmt::format("{:.1f} %", 100 * *r.worst_error),
                                         *r.worst_error <= 1 ? "" : "bad")
                      : HtmlCell::text(""));
}

LabSections lab_sections(const std::vector<LadderView>& ladders, const nlohmann::json& ceilings,
                         Plots& plots) {
  LabSections sections;
  std::vector<std::string> ids;
  for (const LadderView& v : ladders)
    if (std::find(ids.begin(), ids.end(), v.lab) == ids.end()) ids.push_back(v.lab);
  for (const std::string& id : ids) {
    struct Shown {
      std::string name, roofline, sizes;
      std::vector<std::pair<const LadderView*, std::string>> ladders;
    };
    std::vector<Shown> ops;
    std::vector<LadderView> own;
    for (const LadderView& v : ladders) {
      if (v.lab != id) continue;
      own.push_back(v);
      if (ops.empty() || ops.back().name != v.op) ops.push_back({v.op, "", "", {}});
      ops.back().ladders.emplace_back(&v, plots.ladder(v));
    }
    for (Shown& op : ops) {
      std::vector<const LadderView*> views;
      for (const auto& [view, key] : op.ladders) views.push_back(view);
      op.roofline = plots.roofline(views, ceilings);
      op.sizes = plots.sizes(views);
    }
    const Lab* lab = nullptr;
    for (const Lab& l : labs())
      if (l.id == id) lab = &l;
    sections.push_back(
        {id, [=](const Plots& drawn) {
           std::string html = fmt::format("<section id=\"{}\"><h2>{} {}</h2>\n<p>{}</p>\n", escaped(id),
                                          escaped(id.substr(0, id.find('_'))), escaped(lab ? lab->title : id),
                                          escaped(lab ? lab->question : ""));
           int number = 0;
           for (const Shown& op : ops) {
             html += fmt::format("<h3><code>{}</code></h3>\n<div class=\"plots\">\n", escaped(op.name));
             size_t shown = 0;
             for (const auto& [view, key] : op.ladders) {
               if (shown++ == kPlotsShown)
                 html += fmt::format("</div><details><summary>{} more sizes</summary><div class=\"plots\">\n",
                                     op.ladders.size() - kPlotsShown);
               std::string caption = fmt::format("<b>{}</b>: {}; {}", escaped(view->size),
                                                 escaped(view->shape), escaped(view->cache));
               const bool on_gpu = !view->rows.empty() && view->rows.front()->backend == "cuda";
               caption += on_gpu
                              ? "; on a GPU."
                              : fmt::format("; {} thread{}.", view->threads, view->threads == 1 ? "" : "s");
               if (const std::string latency = view->latency(); !latency.empty())
                 caption += " " + escaped(sentence(latency));
               else if (!view->ceiling.empty())
                 caption += fmt::format(" Red: {}, which binds, {} {}{}{}.", escaped(view->ceiling),
                                        three_digits(view->ceiling_per_second() * 1e-9), view->unit(),
                                        view->ceiling.starts_with("gather") ? " of random reads" : "",
                                        escaped(view->resources()));
               caption += " × over naive.";
               if (const std::string moved = view->moved(); !moved.empty()) caption += " " + escaped(moved);
               html += figure(drawn.svg(key), caption + predictions_html(*view));
             }
             if (shown > kPlotsShown) html += "</div></details><div class=\"plots\">\n";
             html +=
                 figure(drawn.svg(op.roofline),
                        "Roofline: the numbers are those of the rungs, gray ones are libraries. A dashed "
                        "red line is where a resource binds that is neither bandwidth nor multiply-adds.");
             html += figure(drawn.svg(op.sizes), "Rate against size.");
             html += "</div>\n";
             for (const auto& [view, key] : op.ladders)
               html +=
                   counts_html(*view, int(std::hash<std::string>()(id + op.name) % 1000) * 100 + number++);
           }
           return html + claims_html(id, own) + "</section>\n";
         }});
  }
  return sections;
}

}  // namespace klab
