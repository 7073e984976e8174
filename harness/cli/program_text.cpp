// The output of klab trace for a program: findings first, then the counts.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/program_run.h"
#include "harness/report/assets.h"
#include "harness/report/html_parts.h"
#include "harness/report/table.h"
#include "harness/simt/gpus.h"

namespace klab {
namespace {

std::string speed_text(const ProgramRun& run) {
  const auto accesses = double(run.accesses());
  if (run.kernel_seconds < 0.01 || accesses < 1e4) return "";  // too little to state a speed
  return fmt::format("{:.1f} M accesses watched in {:.1f} s of kernels, {:.1f} M/s",
                     accesses * run.share / 1e6, run.kernel_seconds,
                     accesses * run.share / 1e6 / run.kernel_seconds);
}

std::string end_text(const ProgramRun& run) {
  if (!run.ended.empty()) return run.ended;
  if (!run.reported)
    return fmt::format("ended with {} and left no report: it ended without exit()", run.exit_code);
  return fmt::format("exited with {}", run.exit_code);
}

std::string summary(const ProgramRun& run) {
  std::string text = fmt::format("{}; {:.1f} s; {} launches; seed {}; within the limits of {}", end_text(run),
                                 run.seconds, run.launched, run.counted.seed, simt::named_gpu().name);
  if (run.thinned_after > 0)
    text += fmt::format(
        "; from second {:.0f} on (--limit) a share of the blocks of each launch was watched, {:.3g}% of all, "
        "counts scaled to "
        "all; errors in the other blocks alone were not found",
        run.thinned_after, 100 * run.share);
  else if (run.share < 1)
    text +=
        fmt::format("; {:.3g}% of the blocks of each grid watched, counts scaled to all", 100 * run.share);
  return text;
}

TraceView view_of(const ProgramRun& run) {
  TraceView view{.run = run.counted};
  view.local = run.local;
  view.units = run.units;
  view.no_resources = "those of programs are nvcc's to say; occupancy is what the other limits allow";
  return view;
}

/// Returns the findings with leaks last.
std::vector<const simt::Finding*> ordered(const ProgramRun& run) {
  std::vector<const simt::Finding*> list;
  for (const bool leaks : {false, true})
    for (const simt::Finding& f : run.counted.findings)
      if ((f.kind == simt::Kind::leak) == leaks) list.push_back(&f);
  return list;
}

}  // namespace

std::string program_text(const ProgramRun& run) {
  std::string text =
      fmt::format("{}  {}\n", inked(run.counted.variant, Ink::bold), inked(summary(run), Ink::dim));
  if (!run.ended.empty()) text += inked("  FINDING  ", Ink::red) + "the program " + run.ended + "\n";
  for (const simt::Finding* f : ordered(run))
    text +=
        (f->kind == simt::Kind::leak ? inked("  note     ", Ink::yellow) : inked("  FINDING  ", Ink::red)) +
        f->describe() + "\n";
  if (run.reported && run.launched == 0) text += "  no kernel was launched\n";
  if (const std::string speed = speed_text(run); !speed.empty()) text += "  " + inked(speed, Ink::dim) + "\n";
  if (run.counted.launches.empty()) return text;
  return text + trace_tables(view_of(run));
}

nlohmann::ordered_json program_json(const ProgramRun& run) {
  nlohmann::ordered_json j = {{"program", run.name},
                              {"ended", end_text(run)},
                              {"exit_code", run.exit_code},
                              {"seconds", run.seconds},
                              {"kernel_seconds", run.kernel_seconds},
                              {"launched", run.launched},
                              {"accesses", run.accesses()},
                              {"share_watched", run.share},
                              {"thinned_after", run.thinned_after},
                              {"seed", run.counted.seed},
                              {"gpu", simt::named_gpu().name},
                              {"moved_bytes", run.counted.moved},
                              {"copied_bytes", run.counted.copied}};
  add_counts(j, view_of(run));
  j["findings"] = nlohmann::ordered_json::array();
  for (const simt::Finding* f : ordered(run))
    j["findings"].push_back({{"kind", simt::name_of(f->kind)},
                             {"kernel", f->kernel},
                             {"block", f->block},
                             {"thread", f->thread},
                             {"file", f->file},
                             {"line", f->line},
                             {"times", f->times},
                             {"text", f->describe()}});
  return j;
}

std::string program_html(const ProgramRun& run) {
  std::string html;
  if (!run.ended.empty()) html += "<p class=\"bad\">The program " + escaped(run.ended) + "</p>\n";
  for (const simt::Finding* f : ordered(run))
    html += fmt::format("<p class=\"{}\">{}</p>\n", f->kind == simt::Kind::leak ? "dim" : "bad",
                        escaped(f->describe()));
  if (const std::string speed = speed_text(run); !speed.empty()) html += "<p>" + escaped(speed) + ".</p>\n";
  if (!run.counted.launches.empty()) html += trace_html_tables(view_of(run));
  return trace_page(run.counted.variant, escaped(summary(run)), html);
}

}  // namespace klab
