// The report without plots: Markdown for a pull request, CSV for a spreadsheet.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "harness/report/ladder_view.h"
#include "harness/report/report.h"
#include "harness/report/table.h"
#include "harness/report/text_cells.h"
#include "harness/report/training.h"

namespace klab {
namespace {

std::string times(const std::optional<Estimate>& e) { return e ? three_digits(e->value) + "×" : ""; }

std::string ratio(const std::optional<Estimate>& e) { return e ? fmt::format("{:.6g}", e->value) : ""; }

std::map<std::string, const Change*> changes_by_key(const ReportInput& in) {
  std::map<std::string, const Change*> map;
  if (in.comparison)
    for (const Change& c : in.comparison->changes) map[key_of(c)] = &c;
  return map;
}

std::string verdict_of(const std::map<std::string, const Change*>& changes, const Row& row) {
  const auto at = changes.find(key_of(row));
  return at == changes.end() ? "" : name_of(at->second->judgement.verdict);
}

bool is_tour(const LadderView& view) {
  const LabOp* op = find_op(view.op);
  if (op == nullptr) return false;
  return std::any_of(op->bench.begin(), op->bench.end(),
                     [&](const BenchShape& b) { return b.tour && b.name == view.size; });
}

}  // namespace

std::string report_markdown(const ReportInput& in) {
  const Recording run = merged_sessions(in.run);
  const auto ladders = ladder_views(run.rows, in.all);
  const auto changes = changes_by_key(in);
  std::string text = fmt::format("# {}\n\n", in.title.empty() ? "klab report" : in.title);
  if (!in.runs.empty()) text += side_by_side_markdown(side_by_side(in.runs)) + "\n";
  if (in.machine.is_object())
    text += fmt::format("{}, {}, {} threads, {}\n\n", in.machine.value("processor", ""),
                        in.machine.value("instruction_set", ""), in.machine.value("threads", 0),
                        in.machine.value("compiler", ""));
  if (in.comparison)
    text +=
        fmt::format("Against the baseline `{}`: {} slower, {} faster, {} the same, {} undecided.\n\n",
                    in.baseline, in.comparison->count(Verdict::slower), in.comparison->count(Verdict::faster),
                    in.comparison->count(Verdict::same), in.comparison->count(Verdict::undecided));
  std::string lab;
  for (const LadderView& view : ladders) {
    if (view.lab != lab) {
      lab = view.lab;
      const Lab* known = lab_of(view.op);
      text += fmt::format("## {}{}\n\n", lab.substr(0, lab.find('_')), known ? " " + known->title : "");
    }
    if (!view.timed()) continue;
    text += fmt::format("**`{}`**, {} ({}; {}; {} thread{})\n\n", view.op, view.size, view.shape, view.cache,
                        view.threads, view.threads == 1 ? "" : "s");
    if (const std::string latency = view.latency(); !latency.empty())
      text += sentence(latency) + "\n\n";
    else if (!view.ceiling.empty())
      text += fmt::format("Binds: {}, {} {}{}.\n\n", view.ceiling,
                          three_digits(view.ceiling_per_second() * 1e-9), view.unit(), view.resources());
    text += fmt::format("| rung | time | {} | of ceiling | naive | parent | peer | error of bound |{}\n",
                        view.unit(), in.comparison ? " verdict |" : "");
    text += fmt::format("|---|--:|--:|--:|--:|--:|--:|--:|{}\n", in.comparison ? "---|" : "");
    for (const Row* r : view.rows) {
      if (r->seconds.empty()) continue;
      text +=
          fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} |{}\n", short_name(*r),
                      seconds_text(r->time.value), three_digits(view.rate(*r) * 1e-9), view.share_text(*r),
                      times(r->over_naive), times(r->over_parent), times(r->over_peer),
                      r->worst_error ? fmt::format("{:.1f} %", 100 * *r->worst_error) : "",
                      in.comparison ? " " + verdict_of(changes, *r) + " |" : "");
    }
    text += "\n";
    if (const std::string moved = view.moved(); !moved.empty()) text += moved + "\n\n";
  }
  std::string seen;
  for (const LadderView& view : ladders) {
    if (view.lab == seen) continue;
    seen = view.lab;
    std::vector<LadderView> own;
    for (const LadderView& v : ladders)
      if (v.lab == seen) own.push_back(v);
    const auto claims = claim_results(seen, own);
    if (claims.empty()) continue;
    text += fmt::format(
        "## Claimed and measured: {}\n\n| claim | by | claimed | measured here | on "
        "|\n|---|---|--:|--:|---|\n",
        seen);
    for (const ClaimResult& c : claims)
      text += fmt::format("| {} | {} | {}–{}× | {} | {} |\n", c.claim->text, c.claim->by,
                          three_digits(c.claim->low), three_digits(c.claim->high),
                          c.ratio ? times(c.ratio) : "not run here", c.size);
    text += "\n";
  }
  for (const std::string& folder : in.train) {
    const TrainingRun t = read_training(folder, 0);
    const auto score = t.result.value("score", nlohmann::json::object());
    text += fmt::format("Training `{}`: {} steps in {:.1f} s, {}.\n", t.name, t.result.value("steps", 0),
                        t.result.value("seconds_training", 0.0),
                        score.empty() ? "not scored"
                                      : fmt::format("PSNR {:.2f} dB, SSIM {:.4f}", score.value("psnr", 0.0),
                                                    score.value("ssim", 0.0)));
  }
  return text;
}

std::string report_summary(const ReportInput& in) {
  const Recording run = merged_sessions(in.run);
  const auto ladders = ladder_views(run.rows, true);
  std::string text =
      "| operation | size | first rung | fastest rung | time | over the first | of the ceiling | over the "
      "vendor baseline |\n"
      "|---|---|--:|---|--:|--:|--:|--:|\n";
  std::vector<std::string> ops;
  for (const LadderView& view : ladders)
    if (std::find(ops.begin(), ops.end(), view.op) == ops.end()) ops.push_back(view.op);
  for (const std::string& op : ops) {
    const LadderView* shown = nullptr;
    for (const LadderView& view : ladders) {
      if (view.op != op || !view.timed()) continue;
      if (shown == nullptr || is_tour(view) > is_tour(*shown) ||
          (is_tour(view) == is_tour(*shown) && view.work() > shown->work()))
        shown = &view;
    }
    if (shown == nullptr) continue;
    const Row *first = nullptr, *best = nullptr;
    for (const Row* r : shown->rows) {
      const Variant* v = find_variant(r->variant);
      if (r->seconds.empty() || (v != nullptr && v->peer)) continue;
      if (first == nullptr) first = r;
      // A time above its ceiling is a measurement error, and the fastest of none.
      if (r->error.empty() && (best == nullptr || r->time.value < best->time.value)) best = r;
    }
    if (best == nullptr) continue;
    const bool naive = first->over_naive == std::nullopt && best->over_naive;
    text += fmt::format("| `{}` | {} | {} | `{}` | {} | {} | {} | {} |\n", op, shown->size,
                        naive ? seconds_text(first->time.value) : "", short_name(*best),
                        seconds_text(best->time.value), times(best->over_naive), shown->share_text(*best),
                        times(best->over_peer));
  }
  return text;
}

std::string report_csv(const ReportInput& in) {
  if (!in.runs.empty()) return side_by_side_csv(side_by_side(in.runs));
  const Recording run = merged_sessions(in.run);
  const auto changes = changes_by_key(in);
  std::string text =
      "lab,op,variant,size,shape,cache,threads,seconds,seconds_low,seconds_high,gb_per_s,gflop_per_s,of_"
      "ceiling,ceiling,"
      "over_naive,over_parent,over_peer,worst_error_of_bound,predicted,prediction,skipped,verdict\n";
  for (const Row& r : run.rows) {
    const bool timed = !r.seconds.empty();
    const auto number = [&](double v) { return timed ? fmt::format("{:.6g}", v) : std::string(); };
    const std::vector<std::string> cells = {
        r.lab,
        r.op,
        r.variant,
        r.size,
        r.shape,
        r.cache,
        std::to_string(r.threads),
        number(r.time.value),
        number(r.time.low),
        number(r.time.high),
        r.bytes > 0 ? number(timed ? r.bytes / r.time.value * 1e-9 : 0) : "",
        r.flops > 0 ? number(timed ? r.flops / r.time.value * 1e-9 : 0) : "",
        ratio(r.of_ceiling),
        r.ceiling,
        ratio(r.over_naive),
        ratio(r.over_parent),
        ratio(r.over_peer),
        r.worst_error ? fmt::format("{:.4g}", *r.worst_error) : "",
        r.expected ? fmt::format("{:.4g}", *r.expected) : "",
        r.verdict,
        r.skipped.empty() ? r.wrong : r.skipped,
        verdict_of(changes, r)};
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text += ',';
      text += csv_cell(cells[i]);
    }
    text += "\n";
  }
  return text;
}

}  // namespace klab
