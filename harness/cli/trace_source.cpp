// Shows counted lines next to their source.
#include <algorithm>
#include <sstream>

#include "harness/cli/trace_text.h"
#include "harness/core/source.h"

namespace klab {
namespace {

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  const std::filesystem::path in_tree = source_root() / place_in_tree(file);
  const auto at = std::filesystem::exists(in_tree) ? in_tree : std::filesystem::path(file);
  if (!std::filesystem::exists(at)) return lines;
  std::istringstream in(read_text(at));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Returns the first line of the function around `line`: the nearest line above that is neither indented nor
/// a brace.
int function_begin(const std::vector<std::string>& lines, int line) {
  for (int k = std::min(line, int(lines.size())); k > 1; --k) {
    const std::string& text = lines[size_t(k - 1)];
    if (!text.empty() && text[0] != ' ' && text[0] != '}' && text[0] != '/' && text[0] != '#') return k;
  }
  return 1;
}

int function_end(const std::vector<std::string>& lines, int line) {
  for (int k = line; k <= int(lines.size()); ++k)
    if (lines[size_t(k - 1)].starts_with("}")) return k;
  return int(lines.size());
}

bool worse(const LineCounts* a, const LineCounts* b) {
  if (a->excess() != b->excess()) return a->excess() > b->excess();
  const auto all = [](const LineCounts* l) { return l->counts.sectors + l->counts.wavefronts; };
  return all(a) > all(b);
}

}  // namespace

std::vector<const LineCounts*> worst_first(const CountedRun& run) {
  std::vector<const LineCounts*> list;
  for (const LineCounts& l : run.lines) list.push_back(&l);
  std::ranges::stable_sort(list, worse);
  return list;
}

std::vector<SourceView> annotated_source(const CountedRun& run) {
  std::vector<SourceView> views;
  for (size_t from = 0; from < run.lines.size();) {
    size_t to = from;
    while (to < run.lines.size() && run.lines[to].file == run.lines[from].file) ++to;
    SourceView view{.file = place_in_tree(run.lines[from].file), .rows = {}};
    const auto lines = lines_of(run.lines[from].file);
    int shown = 0;  // last line shown
    for (size_t k = from; k < to; ++k) {
      const LineCounts& l = run.lines[k];
      if (l.line < 1) continue;
      if (l.line > shown) {
        const int begin = std::max(shown + 1, lines.empty() ? l.line : function_begin(lines, l.line));
        shown = lines.empty() ? l.line : std::max(l.line, function_end(lines, l.line));
        for (int n = begin; n <= shown; ++n)
          view.rows.push_back({n, size_t(n) <= lines.size() ? lines[size_t(n - 1)] : "", {}});
      }
      const auto row = std::ranges::find(view.rows, l.line, &SourceRow::number);
      if (row != view.rows.end()) row->counts.push_back(&l);
    }
    for (SourceRow& row : view.rows) std::ranges::stable_sort(row.counts, worse);
    views.push_back(std::move(view));
    from = to;
  }
  return views;
}

bool compiled_as_written(const LineCounts& l) {
  const uint8_t atomics = !l.atomic || l.compiled_atomics == 0 ? l.compiled_atomics
                          : is_reduction(l)                    ? simt::kReduction
                                                               : simt::kAtomicResult;
  if (l.async && l.space == simt::Space::global)
    return !l.compiled_known || l.compiled.requests == l.counts.requests;
  return !l.compiled_known || (l.compiled.requests == l.counts.requests && l.compiled_widths == l.width &&
                               l.compiled_atomics == atomics);
}

std::string compiled_in_words(const LineCounts& l) {
  if (!l.compiled_known) return "?";
  if (compiled_as_written(l)) return "as written";
  if (l.compiled.requests == 0) return "none";
  std::string text = std::to_string(l.compiled.requests) + " of " + compiled_widths(l);
  if ((l.compiled_atomics & simt::kReduction) != 0) text += ", RED";
  if ((l.compiled_atomics & simt::kAtomicResult) != 0) text += ", ATOM";
  return text;
}

std::vector<NamedCounter> named_counters(const CountedRun& run, bool compiled) {
  const auto sum = [&](auto wanted) { return compiled ? compiled_sum_of(run, wanted) : sum_of(run, wanted); };
  std::vector<NamedCounter> list;
  const auto global = [&](const std::string& words, const std::string& op, bool write, bool atomic) {
    const simt::Counts n = sum([&](const LineCounts& l) {
      return l.space == simt::Space::global && l.atomic == atomic && (atomic || l.write == write);
    });
    if (n.requests == 0) return;
    list.push_back({"global " + words + " requests",
                    "l1tex__t_requests_pipe_lsu_mem_global_op_" + op + ".sum", double(n.requests)});
    list.push_back({"global " + words + " sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_" + op + ".sum",
                    double(n.sectors)});
    if (atomic)  // a GPU counts those that return the old value separately
      for (size_t k = list.size() - 2; k < list.size(); ++k) {
        list[k].also = list[k].nsight;
        list[k].also.replace(list[k].also.rfind("red"), 3, "atom");
      }
    list.push_back({"sectors/request",
                    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_" + op + ".ratio",
                    double(n.sectors) / double(n.requests), true});
    if (!atomic) return;
    const simt::Counts used = sum([compiled](const LineCounts& l) {
      const bool by_code = compiled && l.compiled_known && l.compiled_atomics != 0;
      return l.space == simt::Space::global && l.atomic &&
             (by_code ? (l.compiled_atomics & simt::kAtomicResult) != 0 : !is_reduction(l));
    });
    list.push_back({.words = "of these, with a used result",
                    .nsight = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
                    .value = double(used.requests),
                    .part = true});
  };
  global("load", "ld", false, false);
  global("store", "st", true, false);
  global("atomic", "red", true, true);
  const auto shared = [&](const std::string& words, const std::string& op, bool write) {
    const simt::Counts n = sum([&](const LineCounts& l) {
      return l.space == simt::Space::shared && l.write == write && !l.atomic && !l.async;
    });
    if (n.requests == 0) return;
    list.push_back({"shared " + words + " requests",
                    "smsp__inst_executed_op_shared_" + op + "_pred_on_any.sum", double(n.requests)});
    if (!write) list.back().also = "smsp__inst_executed_op_ldsm_pred_on_any.sum";  // ldmatrix
    list.push_back({"shared " + words + " wavefronts",
                    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" + op + ".sum", double(n.wavefronts)});
    list.push_back({"bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" + op + ".sum",
                    double(n.conflicts())});
  };
  shared("load", "ld", false);
  shared("store", "st", true);
  const simt::Counts async =
      sum([&](const LineCounts& l) { return l.space == simt::Space::shared && l.async; });
  if (async.requests > 0)
    list.push_back({.words = "copies to shared memory",
                    .nsight = "smsp__inst_executed_op_ldgsts_pred_on_any.sum",
                    .value = double(async.requests),
                    .rare = true});
  const simt::Counts constant = sum([&](const LineCounts& l) { return l.space == simt::Space::constant; });
  if (constant.requests > 0) {
    list.push_back({.words = "constant load requests",
                    .nsight = "smsp__inst_executed_op_ldc.sum",
                    .value = double(constant.requests),
                    .rare = true});
    list.push_back({.words = "constant passes",
                    .nsight = "idc__requests.sum",
                    .value = double(constant.wavefronts),
                    .rare = true});
  }
  return list;
}

}  // namespace klab
