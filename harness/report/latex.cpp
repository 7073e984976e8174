// The report as tables of LaTeX, for a paper or slides.
#include <fmt/format.h>

#include "harness/report/ladder_view.h"
#include "harness/report/report.h"
#include "harness/report/table.h"
#include "harness/report/text_cells.h"

namespace klab {
namespace {

std::string latex_times(const std::optional<Estimate>& e) {
  return e ? "$" + three_digits(e->value) + "\\times$" : "";
}

}  // namespace

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c == '\n' ? ' ' : c);
  }
  out.push_back('"');
  return out;
}

std::string latex_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\textbackslash{}";
    else if (c == '~' || c == '^')
      out += std::string("\\") + c + "{}";
    else if (std::string_view("#$%&_{}").find(c) != std::string_view::npos)
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string report_latex(const ReportInput& in) {
  const Recording run = merged_sessions(in.run);
  std::string text = "% Made by klab report. Needs the package booktabs.\n";
  for (const LadderView& view : ladder_views(run.rows, in.all)) {
    if (!view.timed()) continue;
    text += fmt::format(
        "\\begin{{table}}\n\\caption{{{}\\texttt{{{}}}, {} ({}; {}; {} thread{}).}}\n"
        "\\begin{{tabular}}{{lrrrr}}\n\\toprule\nrung & time & {} & of ceiling & over the first "
        "\\\\\n\\midrule\n",
        in.title.empty() ? "" : latex_text(in.title) + ": ", latex_text(view.op), latex_text(view.size),
        latex_text(view.shape), latex_text(view.cache), view.threads, view.threads == 1 ? "" : "s",
        view.unit());
    for (const Row* r : view.rows) {
      if (r->seconds.empty()) continue;
      text += fmt::format("\\texttt{{{}}} & {} & {} & {} & {} \\\\\n", latex_text(short_name(*r)),
                          seconds_text(r->time.value), three_digits(view.rate(*r) * 1e-9),
                          latex_text(view.share_text(*r)), latex_times(r->over_naive));
    }
    text += "\\bottomrule\n\\end{tabular}\n\\end{table}\n\n";
  }
  return text;
}

}  // namespace klab
