// klab report: shows recorded rows as one page.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/recorded.h"
#include "harness/cli/report_file.h"
#include "harness/records/atomic_file.h"
#include "harness/report/report.h"

namespace klab::report_command {
namespace {

struct Options {
  std::vector<std::string> rows;
  std::string baseline, out, figures, title;
  std::vector<std::string> train;
  bool markdown = false, csv = false, summary = false, latex = false, partial = false, all = false,
       side_by_side = false;
};

/// Returns "klab report a.csv b.csv, 2026-11-27": how to make the page again.
std::string made_by(const Options& o) {
  std::string text = "klab report";
  for (const std::string& rows : o.rows) text += " " + rows;
  if (o.side_by_side) text += " --side-by-side";
  for (const std::string& folder : o.train) text += " --train " + folder;
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", &local);
  return text + ", " + date + ",";
}

/// Reads a file of rows into the report: among all others, or as a run of its own.
void read_rows_into(ReportInput& in, const Options& o, const std::string& name) {
  Recording more = read_csv(rows_file_of(name), o.partial);
  if (o.side_by_side) {
    in.runs.push_back({name_of_run(more, std::filesystem::path(name).stem().string()), std::move(more)});
    return;
  }
  in.run.complete = in.run.complete && more.complete;
  in.run.rows.insert(in.run.rows.end(), more.rows.begin(), more.rows.end());
}

int run(const Options& o) {
  if (int(o.markdown) + int(o.csv) + int(o.summary) + int(o.latex) > 1)
    throw std::invalid_argument("--markdown, --csv, --latex and --summary: choose one");
  if (o.side_by_side && (o.summary || o.latex || !o.baseline.empty()))
    throw std::invalid_argument(
        "--side-by-side: is shown as a page, --markdown or --csv, and without --baseline");
  if (o.rows.empty() && o.train.empty())
    throw std::invalid_argument(
        "nothing to show: name files of rows, or the folder of a training with --train");
  if (o.rows.empty() && (o.markdown || o.csv || o.summary || o.latex || !o.baseline.empty()))
    throw std::invalid_argument(
        "--markdown, --csv, --latex, --summary and --baseline are of rows: name a file of them next to "
        "--train");
  ReportInput in;
  for (const std::string& name : o.rows) {
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::path(name) / "metrics.csv", error))
      throw std::invalid_argument(name + ": is the folder of a training: name it with --train");
    read_rows_into(in, o, name);
  }
  refuse_rows_twice(in.run);
  find_records(in, o.rows);
  in.train = o.train;
  in.all = o.all;
  in.title = o.title;
  in.made = made_by(o);
  if (!o.baseline.empty()) {
    in.baseline = o.baseline;
    in.comparison = compare_runs(read_rows(o.baseline), in.run);
  }
  const bool html = !o.markdown && !o.csv && !o.summary && !o.latex;
  if (!o.figures.empty()) {
    if (!html)
      throw std::invalid_argument(
          "--figures: the figures are those of the page: leave --markdown, --csv, --latex and --summary out");
    std::filesystem::create_directories(o.figures);
  }
  size_t figures = 0;
  const std::string text = html         ? report_html(in, o.figures, &figures)
                           : o.latex    ? report_latex(in)
                           : o.markdown ? report_markdown(in)
                           : o.csv      ? report_csv(in)
                                        : report_summary(in);
  const std::string file = o.out.empty() && html ? "report.html" : o.out;
  if (file.empty()) {
    fmt::print("{}", text);
    return exit_ok;
  }
  write_file(file, text);
  fmt::print("{} ({:.2f} MB) shows {}\n", file, double(text.size()) * 1e-6,
             o.side_by_side   ? fmt::format("{} runs side by side", in.runs.size())
             : o.rows.empty() ? fmt::format("{} training{}", o.train.size(), o.train.size() == 1 ? "" : "s")
                              : fmt::format("{} rows", in.run.rows.size()));
  if (!o.figures.empty()) fmt::print("{}: {} figures, each as .svg and .csv\n", o.figures, figures);
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "report",
     .summary = "Recorded rows as one HTML file, as Markdown or as CSV",
     .details = "ROWS are files of rows (.csv, from klab bench --out) or names of baselines. The page needs "
                "no network and no\n"
                "second file. Exit code 2: a file is missing, broken, or holds the same rows as another.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("rows", o->rows, "files of rows, or names of baselines; none for trainings alone")
           ->option_text("ROWS ...");
       app.add_option("--baseline", o->baseline, "compare with this baseline and show the verdicts");
       app.add_option("--train", o->train, "folder of a klab train run; may be given several times")
           ->take_all()
           ->expected(1)
           ->allow_extra_args(false);
       app.add_option("-o,--out", o->out,
                      "file to write (default: report.html; standard output for the others)");
       app.add_flag("--side-by-side", o->side_by_side,
                    "a column for each of ROWS, named by its commit: the same rows over several runs");
       app.add_option("--figures", o->figures, "write each figure there too, as SVG and as CSV");
       app.add_option("--title", o->title, "heading of the page");
       app.add_flag("--latex", o->latex, "tables of LaTeX, for a paper or slides");
       app.add_flag("--markdown", o->markdown, "for a pull request");
       app.add_flag("--csv", o->csv, "for a spreadsheet");
       app.add_flag("--summary", o->summary, "one line an op, as Markdown");
       app.add_flag("--all", o->all, "branches of ladders at every size, not only where they pay");
       app.add_flag("--partial", o->partial, "accept rows of an interrupted run");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::report_command
