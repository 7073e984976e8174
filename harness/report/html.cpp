// The page: machine, verdict, all rows, each lab, training.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/report/assets.h"
#include "harness/report/html_parts.h"
#include "harness/report/report.h"

namespace klab {
namespace {

using nlohmann::json;

std::string fact(const std::string& name, const std::string& value) {
  return value.empty()
             ? ""
             : fmt::format("<div><span>{}</span><span>{}</span></div>\n", escaped(name), escaped(value));
}

std::string text_of(const json& j, const char* key) {
  if (!j.is_object() || !j.contains(key)) return "";
  const json& v = j[key];
  return v.is_string() ? v.get<std::string>() : v.is_null() ? "" : v.dump();
}

/// Returns how many hardware threads other work used while rows were timed; empty if no row says so.
std::string busy_text(const Recording& run) {
  std::vector<double> others;
  for (const Row& row : run.rows)
    if (row.others) others.push_back(*row.others);
  if (others.empty()) return "";
  return fmt::format("{:.1f} threads (median), {:.1f} at most", median(others),
                     *std::ranges::max_element(others));
}

std::string machine_html(const ReportInput& in) {
  const json& m = in.machine;
  std::string caches;
  if (m.is_object() && m.contains("caches"))
    for (const auto& c : m["caches"])
      caches += fmt::format("{}L{} {} KiB", caches.empty() ? "" : ", ", c.value("level", 0),
                            c.value("bytes", int64_t(0)) / 1024);
  std::set<std::string> commits, machines;
  for (const Row& r : in.run.rows) {
    commits.insert(r.commit);
    machines.insert(r.fingerprint);
  }
  const auto joined = [](const std::set<std::string>& all) {
    std::string text;
    for (const std::string& s : all) text += (text.empty() ? "" : ", ") + s;
    return text;
  };
  std::string html = "<section id=\"machine\">\n<div class=\"facts\">\n";
  html += fact("processor", text_of(m, "processor")) +
          fact("instruction set", text_of(m, "instruction_set")) +
          fact("cores, threads",
               m.is_object() ? text_of(m, "cores") + ", " + text_of(m, "threads") : std::string()) +
          fact("caches", caches) +
          fact("memory", m.is_object() && m.contains("memory_bytes")
                             ? fmt::format("{:.1f} GB", m["memory_bytes"].get<double>() * 1e-9)
                             : "") +
          fact("system", text_of(m, "os")) + fact("compiler", text_of(m, "compiler")) +
          fact("GPU", text_of(m, "gpu")) + fact("commit", joined(commits)) +
          fact("busy with other work", busy_text(in.run)) + fact("fingerprint", joined(machines));
  html += "</div>\n";
  if (!m.is_object())
    html +=
        "<p class=\"note\">These rows are of a machine whose record is not here; only its fingerprint is "
        "known.</p>\n";
  return html + "</section>\n";
}

std::string verdict_html(const ReportInput& in) {
  if (!in.comparison) return "";
  const CompareResult& c = *in.comparison;
  std::string html =
      fmt::format("<section id=\"verdict\"><h2>Against the baseline “{}”</h2>\n<p>", escaped(in.baseline));
  html += fmt::format(
      "<span class=\"{}\">{} slower</span>, <span class=\"good\">{} faster</span>, {} the same, "
      "<span class=\"open\">{} undecided</span>. ",
      c.count(Verdict::slower) ? "bad" : "dim", c.count(Verdict::slower), c.count(Verdict::faster),
      c.count(Verdict::same), c.count(Verdict::undecided));
  html +=
      "Compared is time over the time of an anchor in the same rounds; the rate of a false slower or faster "
      "among "
      "all of them together is at most 1 %.</p>\n";
  for (const std::string& note : c.notes) html += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
  HtmlTable table("changes",
                  {"variant", "size", "verdict", "change", "low", "high", "margin", "against", "note"});
  for (const Change& change : c.changes) {
    const Judgement& j = change.judgement;
    const auto percent = [&](double x) {
      return change.measured && change.failed.empty() && std::isfinite(x)
                 ? HtmlCell::number(100 * std::expm1(x), fmt::format("{:+.1f} %", 100 * std::expm1(x)))
                 : HtmlCell::text("");
    };
    const char* ink = j.verdict == Verdict::slower   ? "bad"
                      : j.verdict == Verdict::faster ? "good"
                      : j.verdict == Verdict::same   ? ""
                                                     : "open";
    table.add(
        {HtmlCell::code(change.variant), HtmlCell::text(change.size),
         change.failed.empty() ? HtmlCell::text(name_of(j.verdict), ink) : HtmlCell::text("WRONG", "bad"),
         percent(j.change.value), percent(j.change.low), percent(j.change.high), percent(j.margin),
         HtmlCell::text(change.anchor),
         HtmlCell::text(change.failed.empty() ? change.reason : change.failed, "wide")});
  }
  html += table.html(false);
  for (const auto& [what, names] :
       {std::pair{"only in the baseline", &c.missing}, std::pair{"only in these rows", &c.added}}) {
    if (names->empty()) continue;
    html += fmt::format("<details><summary>{} {}</summary><ul class=\"note\">", names->size(), what);
    for (const std::string& name : *names) html += "<li>" + escaped(name) + "</li>";
    html += "</ul></details>\n";
  }
  return html + "</section>\n";
}

/// Returns the claims on record: verdict, interval, rule, and the command that decides each.
std::string claims_on_record_html(const std::vector<ClaimEntry>& claims) {
  if (claims.empty()) return "";
  HtmlTable table("claimsrecord",
                  {"claim", "said in", "verdict", "metric", "low", "high", "holds", "decided by"});
  for (const ClaimEntry& e : claims) {
    const ClaimVerdict v = e.verdict();
    const char* ink = v == ClaimVerdict::held ? "good" : v == ClaimVerdict::refuted ? "bad" : "open";
    const std::string on = e.depends_text();
    table.add({HtmlCell::text(e.claim.said), HtmlCell::text(e.claim.source),
               HtmlCell::text(name_of(v) + (on.empty() ? "" : " " + on), ink), HtmlCell::text(e.claim.metric),
               HtmlCell::number(e.low(), claim_number(e.low())),
               HtmlCell::number(e.high(), claim_number(e.high())), HtmlCell::text(e.claim.rule.text()),
               HtmlCell::code("klab " + e.claim.command())});
  }
  return "<section id=\"claims\"><h2>Claims on record</h2>\n<p class=\"note\">What is claimed about learning "
         "and rendering. A claim "
         "is held if every value of its metric is in its range, refuted if none is.</p>\n" +
         table.html(true) + "</section>\n";
}

std::string rows_html(const ReportInput& in, const std::vector<LadderView>& ladders) {
  std::map<std::string, const Change*> changes;
  if (in.comparison)
    for (const Change& c : in.comparison->changes) changes[key_of(c)] = &c;
  std::vector<std::string> heads = {"lab",   "variant", "size", "time",          "±", "rate", "of ceiling",
                                    "naive", "parent",  "peer", "error of bound"};
  if (in.comparison) heads.emplace_back("verdict");
  HtmlTable table("rows", heads);
  table.keep({1, 3, 7});  // variant, time, factor over the first rung
  for (const LadderView& view : ladders)
    for (const Row* r : view.rows) {
      std::vector<HtmlCell> cells = {HtmlCell::text(r->lab.substr(0, 2)), HtmlCell::code(r->variant),
                                     HtmlCell::text(view.size, "size")};
      if (r->seconds.empty()) {
        const std::string why = r->wrong.empty() ? "skipped: " + r->skipped : "FAILED: " + r->wrong;
        cells.push_back(HtmlCell::text(why, r->wrong.empty() ? "wide dim" : "wide bad"));
        while (cells.size() < heads.size()) cells.push_back(HtmlCell::text(""));
      } else {
        timed_cells(cells, view, *r);
        if (in.comparison) {
          const auto at = changes.find(key_of(*r));
          cells.push_back(
              HtmlCell::text(at == changes.end() ? "new" : name_of(at->second->judgement.verdict)));
        }
      }
      table.add(std::move(cells));
    }
  return "<section id=\"all\"><h2>All rows</h2>\n<p class=\"note\">Medians with the farther end of their 95 "
         "% interval. "
         "Speedups are taken within a round: over the first rung (naive), over the rung it was made from "
         "(parent), over "
         "the fastest library (peer). A click on a heading sorts. Error: the largest of the check, as a "
         "share of what "
         "rounding allows.</p>\n" +
         table.html(true) + "</section>\n";
}

/// Collects the ceilings named in the rows, for runs without a record of the machine.
json ceilings_of(const std::vector<Row>& rows) {
  std::map<std::pair<std::string, int>, double> best;
  for (const Row& r : rows)
    if (r.ceiling_per_second > 0) {
      double& value = best[{r.ceiling, r.threads}];
      value = std::max(value, r.ceiling_per_second);
    }
  json list = json::array();
  for (const auto& [which, value] : best)
    list.push_back({{"name", which.first}, {"threads", which.second}, {"per_second", value}});
  return {{"measured", list}};
}

}  // namespace

std::string report_html(const ReportInput& in, const std::filesystem::path& figures, size_t* written) {
  const Recording run = merged_sessions(in.run);
  const auto ladders = ladder_views(run.rows, in.all);
  Plots plots;
  const LabSections sections =
      lab_sections(ladders, in.ceilings.is_object() ? in.ceilings : ceilings_of(run.rows), plots);
  std::vector<TrainingRun> training;
  for (const std::string& folder : in.train)
    training.push_back(read_training(folder, in.train.size() > 1 ? 4 : 10));
  const TrainingPlots curves = training_plots(training, plots);
  std::optional<SideBySide> runs;
  if (!in.runs.empty()) runs = side_by_side(in.runs);
  const std::string over = runs ? over_runs(*runs, plots) : "";
  const bool drawn = plots.draw();
  if (!figures.empty()) {
    if (!drawn)
      throw std::runtime_error("--figures needs gnuplot, which is not installed or failed: " + plots.error());
    const size_t count = plots.write(figures);
    if (written != nullptr) *written = count;
  }
  const bool timed = !run.rows.empty() || (training.empty() && !runs);  // false: only trainings or runs
  const std::string title = escaped(in.title.empty() ? "klab report" : in.title);
  std::string nav = timed ? "<a href=\"#machine\">machine</a>" : "";
  if (runs) nav += "<a href=\"#runs\">runs</a>";
  if (in.comparison) nav += "<a href=\"#verdict\">verdict</a>";
  if (timed) nav += "<a href=\"#all\">all rows</a>";
  for (const LabSection& s : sections) nav += fmt::format("<a href=\"#{0}\">{0}</a>", escaped(s.id));
  if (timed && !in.claims.empty()) nav += "<a href=\"#claims\">claims</a>";
  if (!training.empty()) nav += "<a href=\"#training\">training</a>";
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<link rel=\"icon\" "
      "href=\"data:,\">\n<style>\n{}</style>\n</head>\n<body>\n<h1>{}</h1>\n"
      "<p class=\"dim\">{}</p>\n<nav>{}</nav>\n",
      title, report_css(), title,
      [&] {
        if (runs && training.empty() && !timed)
          return fmt::format("{} runs side by side.", runs->names.size());
        if (!timed)
          return fmt::format("{} training{} of a radiance field.", training.size(),
                             training.size() == 1 ? "" : "s");
        std::set<std::string> ops;
        for (const Row& r : run.rows) ops.insert(r.op);
        return fmt::format("{} operations, {} variants and sizes, checked and timed.", ops.size(),
                           run.rows.size());
      }(),
      nav);
  if (!run.complete) html += "<p class=\"bad\">The run was interrupted: this is a part of it.</p>\n";
  if (!drawn)
    html +=
        fmt::format("<p class=\"note\">There are no plots: gnuplot is not installed or failed ({}).</p>\n",
                    escaped(plots.error()));
  if (runs) {
    html += side_by_side_html(*runs);
    if (const std::string svg = plots.svg(over); !svg.empty())
      html += "<figure>" + svg +
              "<figcaption>Times over the runs, relative to the first; below 1 is faster. Shown are the rows "
              "that moved "
              "most.</figcaption></figure>\n";
  }
  if (timed) html += machine_html(in) + verdict_html(in) + rows_html(in, ladders);
  for (const LabSection& s : sections) html += s.html(plots);
  if (timed) html += claims_on_record_html(in.claims);
  html += training_html(training, curves, plots);
  html += fmt::format(
      "<footer>Made by {} from recorded rows. Units are decimal.</footer>\n<script>\n{}</script>\n"
      "</body>\n</html>\n",
      escaped(in.made.empty() ? "klab report" : in.made), report_js());
  return html;
}

}  // namespace klab
