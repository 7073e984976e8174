#include "harness/cli/gpu_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/core/lab.h"
#include "harness/core/optional_dims.h"
#include "harness/core/source.h"
#include "harness/records/csv_text.h"
#include "harness/records/digest.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kQueueHeader = "rung,shape,over,predicted,rule,reason";
constexpr std::string_view kSourcesHeader = "rung,code";

/// The code without comments, blanks and includes, so that a record stays valid when words change or a header moves. Strings are
/// taken as they are.
std::string bare(const std::string& code) {
  std::string out;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code.compare(i, 2, "//") == 0) {
      i = std::min(code.find('\n', i), code.size());
    } else if (code.compare(i, 8, "#include") == 0) {
      i = std::min(code.find('\n', i), code.size());
    } else if (code.compare(i, 2, "/*") == 0) {
      i = std::min(code.find("*/", i), code.size() - 2) + 1;
    } else if (code[i] == '"') {
      const size_t begin = i++;
      while (i < code.size() && code[i] != '"') i += code[i] == '\\' ? 2 : 1;
      out.append(code, begin, i - begin + 1);
    } else if (!std::isspace(static_cast<unsigned char>(code[i]))) {
      out += code[i];
    }
  }
  return out;
}

/// Headers that every CUDA rung includes: launches, memory, and the names of CUDA. A line there changes no rung's idea and would put
/// all rungs in the queue.
constexpr std::string_view kOfAllRungs[] = {"kernels/common/cuda.h", "kernels/common/cuda_device.h"};

/// Adds a file and the kernels' headers that it includes.
void gather(const fs::path& root, const std::string& name, std::set<std::string>& seen, std::string& all) {
  if (std::ranges::find(kOfAllRungs, name) != std::end(kOfAllRungs)) return;
  if (!seen.insert(name).second || !fs::exists(root / name)) return;
  const std::string text = read_text(root / name);
  all += bare(text);
  constexpr std::string_view include = "#include \"", kernels = "#include \"kernels/";
  for (size_t at = text.find(kernels); at != std::string::npos; at = text.find(kernels, at + 1)) {
    const size_t begin = at + include.size();
    gather(root, text.substr(begin, text.find('"', begin) - begin), seen, all);
  }
}

/// The cells of a line that csv_quoted() wrote.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      cells.back() += line[++i];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += line[i];
  }
  return cells;
}

/// Calls `line(number, cells)` for each line of a table with that header.
template <class F>
void for_each_line(const fs::path& file, std::string_view header, F line) {
  std::ifstream in(file);
  if (!in) throw std::invalid_argument(file.string() + ": cannot be read");
  std::string text;
  if (!std::getline(in, text) || text != header)
    throw std::invalid_argument(fmt::format(
        "{}:1: the first line has to be '{}': klab gpu-queue --write makes the file", file.string(), header));
  for (int number = 2; std::getline(in, text); ++number) {
    const std::vector<std::string> cells = cells_of(text);
    if (cells.size() != size_t(std::ranges::count(header, ',') + 1))
      throw std::invalid_argument(fmt::format("{}:{}: {} cells, and the header has {}", file.string(), number,
                                              cells.size(), std::ranges::count(header, ',') + 1));
    line(number, cells);
  }
}

/// What the machines' records hold: by rung, the shapes that were timed and the code that was.
struct Timed {
  std::map<std::string, std::set<std::string>> shapes;  // "n=1048576"
  std::map<std::string, std::set<std::string>> codes;
};

Timed timed_on_gpus(const fs::path& root) {
  Timed timed;
  if (!fs::exists(root / "reports/recorded")) return timed;
  for (const auto& machine : fs::directory_iterator(root / "reports/recorded")) {
    const fs::path sources = machine.path() / "gpu_sources.csv";
    if (!machine.is_directory()) continue;
    for (const auto& file : fs::directory_iterator(machine)) {
      const std::string name = file.path().filename();
      if (!name.starts_with("gpu_rows") || !name.ends_with(".csv")) continue;
      for (const Row& row : read_csv(file.path().string(), true).rows)
        if (!row.seconds.empty()) timed.shapes[row.variant].insert(row.shape);
    }
    if (fs::exists(sources))
      for_each_line(sources, kSourcesHeader, [&](int, const std::vector<std::string>& cells) {
        const Variant* v = find_variant(cells[0]);
        timed.codes[v != nullptr ? v->id : cells[0]].insert(cells[1]);
      });
  }
  return timed;
}

std::string shape_words(std::span<const int64_t> shape) {
  std::string text;
  for (const int64_t size : shape) text += fmt::format("{}{}", text.empty() ? "" : " ", size);
  return text;
}

}  // namespace

std::string rule_of(const std::optional<double>& predicted, const std::string& parent) {
  if (parent.empty()) return "timed";
  return predicted ? fmt::format("over its parent: at least {}", *predicted) : "over its parent: above 1";
}

std::string decide(const Waiting& line, std::span<const Row> rows) {
  const LabOp* op = find_op(find_variant(line.rung)->op);
  const std::string shape = shape_text(op->op, line.shape);
  const auto row =
      std::ranges::find_if(rows, [&](const Row& r) { return r.variant == line.rung && r.shape == shape; });
  if (row == rows.end()) return "not decided: no row of it at " + shape;
  if (!row->skipped.empty()) return "not decided: " + row->skipped;
  if (!row->wrong.empty()) return "not decided: wrong, " + row->wrong;
  if (!row->error.empty()) return "not decided: " + row->error;
  if (line.parent.empty()) return "timed";
  if (!row->over_parent) return "not decided: its parent was not timed next to it";
  const double limit = line.predicted.value_or(1);
  if (row->over_parent->low >= limit) return "held";
  return row->over_parent->high < limit ? "not held" : "undecided";
}

std::string code_digest(const fs::path& root, const Variant& variant) {
  std::string all;
  std::set<std::string> seen;
  std::vector<std::string> names = {variant.rung};
  // A tree of earlier may have it by a former id.
  for (const std::string& was : variant.was) names.push_back(was.substr(was.rfind('.') + 1));
  for (const std::string& name : names) {
    gather(root, fmt::format("kernels/{}/cuda/{}.cu", variant.op, name), seen, all);
    if (!all.empty()) break;
  }
  return all.empty() ? "" : sha256(all);
}

std::vector<Waiting> waiting_for_gpu(const fs::path& root) {
  const Timed timed = timed_on_gpus(root);
  std::vector<Waiting> lines;
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops)
      for (const Variant* v : variants_of(op.op.name, "cuda")) {
        if (v->peer) continue;
        Waiting line{.rung = v->id,
                     .shape = v->expect.shape,
                     .parent = v->parent,
                     .predicted = {},
                     .rule = {},
                     .reason = {}};
        if (!line.shape.empty())
          line.predicted = v->expect.over_parent;
        else if (v->branch())
          line.shape = v->when.shape;
        else if (!op.bench.empty())
          line.shape = op.bench.front().shape;
        if (line.shape.empty()) continue;
        line.rule = rule_of(line.predicted, line.parent);
        const auto shapes = timed.shapes.find(v->id);
        const auto codes = timed.codes.find(v->id);
        // Without a prediction any size tells what the rung is worth.
        const bool has_time = shapes != timed.shapes.end() &&
                              (!line.predicted || shapes->second.contains(shape_text(op.op, line.shape)));
        if (shapes == timed.shapes.end())
          line.reason = "never timed";
        else if (!has_time)
          line.reason = "timed at other sizes only";
        else if (codes == timed.codes.end() || !codes->second.contains(code_digest(root, *v)))
          line.reason = "changed since it was timed";
        else
          continue;
        lines.push_back(std::move(line));
      }
  return lines;
}

std::string gpu_queue_csv(std::span<const Waiting> lines) {
  std::string text = std::string(kQueueHeader) + "\n";
  for (const Waiting& line : lines)
    text += fmt::format("{},{},{},{},{},{}\n", line.rung, shape_words(line.shape), line.parent,
                        line.predicted ? fmt::format("{}", *line.predicted) : "", csv_quoted(line.rule),
                        csv_quoted(line.reason));
  return text;
}

std::vector<Waiting> read_gpu_queue(const fs::path& file) {
  std::vector<Waiting> lines;
  for_each_line(file, kQueueHeader, [&](int number, const std::vector<std::string>& cells) {
    const auto bad = [&](const std::string& column, const std::string& what) {
      throw std::invalid_argument(fmt::format("{}:{}: column {}: {}", file.string(), number, column, what));
    };
    const Variant* v = find_variant(cells[0]);
    if (v == nullptr || v->backend != "cuda")
      bad("rung", "'" + cells[0] + "' is no CUDA rung: klab list --backend cuda");
    Waiting line{.rung = v->id,
                 .shape = {},
                 .parent = cells[2],
                 .predicted = {},
                 .rule = cells[4],
                 .reason = cells[5]};
    std::istringstream sizes(cells[1]);
    for (int64_t size = 0; sizes >> size;) line.shape.push_back(size);
    if (!sizes.eof() || !fits_dims(find_op(v->op)->op, line.shape.size()))
      bad("shape", fmt::format("'{}' is not {} sizes", cells[1], find_op(v->op)->op.dims.size()));
    if (!cells[3].empty()) {
      char* end = nullptr;
      line.predicted = std::strtod(cells[3].c_str(), &end);
      if (*end != '\0' || !(*line.predicted > 0))
        bad("predicted", "'" + cells[3] + "' is no positive number");
    }
    lines.push_back(std::move(line));
  });
  return lines;
}

std::string gpu_sources_csv(const fs::path& root) {
  std::string text = std::string(kSourcesHeader) + "\n";
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops)
      for (const Variant* v : variants_of(op.op.name, "cuda"))
        if (const std::string digest = code_digest(root, *v); !digest.empty())
          text += v->id + "," + digest + "\n";
  return text;
}

}  // namespace klab
