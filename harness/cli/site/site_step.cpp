#include "harness/cli/site/site_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "harness/cli/site/site_records.h"
#include "harness/core/source.h"
#include "harness/report/html_parts.h"
#include "harness/report/table.h"
#include "harness/step/bodies.h"
#include "harness/step/lesson.h"
#include "harness/step/work_file.h"

namespace klab {
namespace {

std::string sentence_about_marks(const std::string& text) {
  const bool marked = text.find("  // CHANGE\n") != text.npos || text.find("// ADD BELOW\n") != text.npos;
  return marked ? " Lines to change, and lines below which something is to be added, stand out; klab's rung "
                  "takes over the others as they are."
                : "";
}

std::string hints_html(const std::vector<std::string>& hints, const PageContext& page,
                       const std::string& source) {
  std::string html;
  for (size_t k = 0; k < hints.size(); ++k)
    html += fmt::format("<details><summary>Hint {} of {}</summary>\n{}</details>\n", k + 1, hints.size(),
                        page.render(hints[k], source).html);
  return html.empty() ? "" : "<h2 id=\"hints\">Hints</h2>\n" + html;
}

const std::map<std::string, int64_t>* whole_call(const RungCounts* counts) {
  if (counts == nullptr) return nullptr;
  const auto all = std::ranges::find(counts->places, "all", &PlaceCounts::place);
  return all == counts->places.end() ? nullptr : &all->counts;
}

std::string counts_html(const Step& step, const PageContext& page) {
  std::string html = "<h2 id=\"counts\">Counts of the parent and the goal</h2>\n";
  if (!step.cuda())
    return html +
           "<p>Rungs of the processor are timed, not counted: their goal is the speedup that EXPECT "
           "names.</p>\n";
  const RungCounts *parent = page.records.counts(*step.parent), *own = page.records.counts(*step.own);
  const auto *from = whole_call(parent), *goal = whole_call(own);
  if (from == nullptr || goal == nullptr)
    return html + "<p>There are no recorded counts of both rungs: the host cannot run one of them.</p>\n";
  std::set<std::string> names;
  for (const auto* counts : {from, goal})
    for (const auto& [name, count] : *counts)
      if (name != "calls") names.insert(name);
  HtmlTable table("parent_and_goal", {"one call", "parent", "goal", ""});
  for (const std::string& name : names) {
    const auto of = [&](const std::map<std::string, int64_t>& counts) {
      const auto at = counts.find(name);
      return at == counts.end() ? int64_t(0) : at->second;
    };
    const int64_t a = of(*from), b = of(*goal);
    std::string words = name;
    std::ranges::replace(words, '_', ' ');
    table.add({HtmlCell::text(words), HtmlCell::number(double(a), grouped(a)),
               HtmlCell::number(double(b), grouped(b)),
               HtmlCell::text(b < a   ? "falls"
                              : b > a ? "rises"
                                      : "",
                              b < a ? "good" : "")});
  }
  const std::string shape = parent->shape == own->shape
                                ? own->shape
                                : fmt::format("{}; of the parent {}", own->shape, parent->shape);
  return html + table.html(false) +
         fmt::format(
             "<p class=\"note\">At {}, as recorded by <code>klab counts</code>: CUDA threads run on the "
             "host, "
             "every access watched. A metric that a rung does not have is 0.</p>\n",
             escaped(shape));
}

/// Shows the pictures of the traces of parent and goal, next to each other.
std::string traces_html(const Step& step, const PageContext& page) {
  if (!step.cuda()) return "";
  const std::string figures = sheet_figure(page, *step.parent, "The parent, " + step.parent->id) +
                              sheet_figure(page, *step.own, "The goal, " + step.own->id);
  return figures.empty() ? ""
                         : "<h2 id=\"pictures\">What the traces of the parent and the goal show</h2>\n<div "
                           "class=\"plots\">\n" +
                               figures + "</div>\n";
}

/// Lists the recorded times of parent and goal, machine by machine.
std::string times_html(const Step& step, const PageContext& page) {
  std::string html = "<h2 id=\"times\">Recorded times</h2>\n";
  size_t rows = 0;
  for (const RecordedMachine& m : page.records.machines()) {
    HtmlTable table("times_" + m.fingerprint, {"size", "parent", "goal", "times as fast"});
    const size_t before = rows;
    for (const Row& r : m.rows.rows) {
      if (r.variant != step.own->id) continue;
      const auto parent = std::ranges::find_if(m.rows.rows, [&](const Row& p) {
        return p.variant == step.parent->id && p.shape == r.shape && p.cache == r.cache &&
               p.threads == r.threads;
      });
      ++rows;
      std::string faster;
      if (r.over_parent)
        faster = fmt::format("{}× ({} to {})", three_digits(r.over_parent->value),
                             three_digits(r.over_parent->low), three_digits(r.over_parent->high));
      table.add({HtmlCell::text(r.size.empty() ? r.shape : r.size, "size"),
                 parent != m.rows.rows.end()
                     ? HtmlCell::number(parent->time.value, seconds_text(parent->time.value))
                     : HtmlCell::text(""),
                 HtmlCell::number(r.time.value, seconds_text(r.time.value)),
                 r.over_parent ? HtmlCell::number(r.over_parent->value, faster) : HtmlCell::text("")});
    }
    if (rows > before)
      html += fmt::format("<h3>On {}</h3>\n",
                          linked(page.to("machines/" + m.fingerprint + ".html"), escaped(m.name))) +
              table.html(false);
  }
  const std::string waits = page.records.waits(*step.own);
  if (!waits.empty()) html += "<p class=\"open\">" + escaped(sentence(waits)) + "</p>\n";
  if (rows == 0 && waits.empty()) html += "<p>No machine's record has this rung.</p>\n";
  if (rows > 0)
    html +=
        "<p class=\"note\">Times as fast: the median over rounds that timed both, with its interval. "
        "A time belongs to the machine that is named above it.</p>\n";
  return html;
}

std::string neighbor(const Step* step, const PageContext& page, const char* form) {
  if (step == nullptr) return "<span></span>";
  const std::string to = page.to(step_page(*step));
  return to.empty() ? "<span></span>" : linked(to, fmt::format(fmt::runtime(form), escaped(step->name)));
}

/// Returns the step before this one in its lab; null for the first.
const Step* step_before(const Step& step) {
  const auto list = steps_of(*step.lab);
  const auto at = std::ranges::find(list, &step);
  return at == list.begin() || at == list.end() ? nullptr : *(at - 1);
}

}  // namespace

std::string step_title(const Step& step) {
  const std::string title = lesson_of(step).title;
  return title.empty() ? "Step " + step.name : "Step " + step.name + ": " + title;
}

std::string code_html(const std::string& source) {
  std::string html = "<pre><ol class=\"code\">";
  std::istringstream in(source);
  for (std::string line; std::getline(in, line);) {
    const bool change = line.ends_with("// CHANGE") || line.ends_with("// ADD BELOW");
    html += fmt::format("<li{}>{}\n</li>", change ? " class=\"change\"" : "", escaped(line));
  }
  return html + "</ol></pre>\n";
}

std::string diff_html(const std::string& diff) {
  std::string html = "<pre>";
  std::istringstream in(diff);
  for (std::string line; std::getline(in, line);) {
    const char* style = line.starts_with("+")   ? "plus"
                        : line.starts_with("-") ? "minus"
                        : line.starts_with("@") ? "place"
                                                : "";
    html += *style != '\0' ? fmt::format("<span class=\"{}\">{}</span>\n", style, escaped(line))
                           : escaped(line) + "\n";
  }
  return html + "</pre>\n";
}

std::string step_html(const Step& step, const PageContext& page, const std::string& live) {
  const StepLesson lesson = lesson_of(step);
  const std::string source = lesson_path(step.lab->id), text = start_text(step);
  std::string html = fmt::format(
      "<p class=\"where\">{} · {}</p>\n<h1>{}</h1>\n<p class=\"links\">From <code>{}</code>: {} · {}{}</p>\n",
      linked(page.to(lesson_page(step.lab->id)), escaped(step.lab->title)),
      linked(page.to("steps/index.html") + "#" + step.lab->id, "steps of this lab"),
      escaped(step_title(step)), escaped(step.parent->id),
      linked(page.section(*step.parent), "its section in the lesson"),
      linked(page.to(ladder_page(step.lab->id)) + "#" + step.op->op.name, "the ladder"), [&] {
        std::string traces;
        for (const Variant* v : {step.parent, step.own})
          if (const std::string to = page.to(trace_page_of(*v)); !to.empty())
            traces += " · " + linked(to, v == step.own ? "trace of the goal" : "trace of the parent");
        return traces;
      }());
  html += live;
  html += page.render(lesson.text, source).html;
  html += fmt::format(
      "<h2 id=\"file\">The file</h2>\n<p><code>klab step {0}</code> writes it as <code>work/{1}</code>; "
      "<code>klab step --check {0}</code> judges it, <code>--watch</code> whenever it is saved, and "
      "<code>--page</code> shows this page with the verdict in it.{2}</p>\n{3}",
      escaped(step.name), escaped(step.work), sentence_about_marks(text), code_html(text));
  html += hints_html(lesson.hints, page, source) + counts_html(step, page) + traces_html(step, page) +
          times_html(step, page);
  html +=
      "<h2 id=\"answer\">klab's own answer</h2>\n<details><summary>The change from the parent</summary>\n" +
      diff_html(unified_diff(source_text(*step.parent), source_text(*step.own), source_path(*step.parent),
                             source_path(*step.own))) +
      "</details>\n";
  return html + "<p class=\"steps\">" + neighbor(step_before(step), page, "← Step {}") +
         neighbor(next_step(step), page, "Step {} →") + "</p>\n";
}

}  // namespace klab
