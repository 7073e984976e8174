#include "harness/cli/gpu_agreement.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/check/shape_reader.h"
#include "harness/core/registry.h"
#include "harness/report/table.h"

namespace klab {
namespace {

constexpr const char* kLeastWords = "least nanoseconds";

bool same(const ComparedCounter& c) { return c.host == c.gpu; }

}  // namespace

bool Agreement::exact() const { return why_not.empty() && std::ranges::all_of(counts, same); }

std::vector<Agreement> agreements(const GpuRecord& record, const simt::GpuModel* gpu,
                                  const std::function<void(const std::string&)>& showing) {
  std::vector<Agreement> list;
  for (const auto& [id, call] : record) {
    showing(id);
    Agreement a{.variant = id, .why_not = "", .counts = {}};
    const Variant* variant = find_variant(id);
    const LabOp* op = variant != nullptr ? find_op(variant->op) : nullptr;
    if (op == nullptr) {
      a.why_not = "no variant of that name";
    } else {
      try {
        const std::vector<int64_t> shape = shape_from_text(op->op, call.shape);
        if (shape.empty())
          throw std::invalid_argument(fmt::format("'{}' is no shape of {}", call.shape, op->op.name));
        const CountedRun run = count_run(*op, *variant, shape, 1);
        auto compared = compare_counters(run, call.counts, "the record");
        if (gpu != nullptr) compare_bound(work_of(run, *variant), *gpu, call.counts, compared);
        for (const ComparedCounter& c : compared) {
          if (c.kind == ComparedCounter::Kind::least) a.least = c.host, a.took = c.gpu;
          if (c.kind == ComparedCounter::Kind::count && !c.part && c.words != kDramWords)
            a.counts.push_back(c);
        }
      } catch (const std::exception& e) {
        a.why_not = e.what();
      }
    }
    list.push_back(std::move(a));
  }
  return list;
}

std::string agreement_text(const std::vector<Agreement>& list, bool markdown) {
  size_t exact = 0, counts = 0, equal = 0, unknown = 0, timed = 0;
  std::string faster;
  double share = 0;
  for (const Agreement& a : list) {
    if (a.took > 0) {
      ++timed;
      share = std::max(share, a.least / a.took);
      if (a.least > a.took)
        faster += fmt::format("{}{} ({:.0f} ns, at least {:.0f})", faster.empty() ? "" : ", ", a.variant,
                              a.took, a.least);
    }
    if (!a.why_not.empty()) {
      ++unknown;
      continue;
    }
    exact += a.exact() ? 1 : 0;
    counts += a.counts.size();
    equal += size_t(std::ranges::count_if(a.counts, same));
  }
  std::string text =
      fmt::format("{} of {} rungs count the same as the GPU to the digit, and {} of {} counts.", exact,
                  list.size() - unknown, equal, counts);
  if (unknown > 0) text += fmt::format(" {} rungs cannot be counted on the host.", unknown);
  if (timed > 0 && faster.empty())
    text += fmt::format(
        " None of {} took less than the least time that the model of the GPU needs; the nearest took {:.1f} "
        "times as long.",
        timed, 1 / share);
  if (!faster.empty()) text += " In less than the least time, so the bound is wrong: " + faster + ".";
  text += "\n";
  if (exact + unknown == list.size()) return text;
  if (markdown) text += "\n| rung | count that differs | host | GPU | ratio |\n|---|---|--:|--:|--:|\n";
  Table table({{"rung"},
               {"count that differs"},
               {"host", Column::Kind::right},
               {"GPU", Column::Kind::right},
               {"GPU/host", Column::Kind::right}});
  table.indent(2);
  for (const Agreement& a : list)
    for (const ComparedCounter& c : a.counts) {
      if (same(c)) continue;
      const std::string ratio = c.host > 0 ? fmt::format("{:.3g}", c.gpu / c.host) : "";
      if (markdown)
        text +=
            fmt::format("| `{}` | {} | {:.0f} | {:.0f} | {} |\n", a.variant, c.words, c.host, c.gpu, ratio);
      else
        table.add({a.variant, c.words, fmt::format("{:.0f}", c.host), fmt::format("{:.0f}", c.gpu), ratio});
    }
  return markdown ? text : text + table.text();
}

std::string agreement_csv(const std::vector<Agreement>& list) {
  std::string text = "variant,count,host,gpu\n";
  for (const Agreement& a : list) {
    if (!a.why_not.empty()) text += a.variant + ",,,\n";
    if (a.took > 0) text += fmt::format("{},{},{:.0f},{:.0f}\n", a.variant, kLeastWords, a.least, a.took);
    for (const ComparedCounter& c : a.counts)
      text += fmt::format("{},{},{:.0f},{:.0f}\n", a.variant, c.words, c.host, c.gpu);
  }
  return text;
}

std::vector<Agreement> read_agreement(const std::string& text, const std::string& file) {
  std::vector<Agreement> list;
  std::istringstream in(text);
  std::string line;
  if (!std::getline(in, line) || line != "variant,count,host,gpu")
    throw std::invalid_argument(
        file + ":1: no head variant,count,host,gpu: klab counts --gpu FILE --accept writes it");
  for (int number = 2; std::getline(in, line); ++number) {
    std::istringstream cells(line);
    std::string variant, words, host, gpu;
    std::getline(cells, variant, ',');
    std::getline(cells, words, ',');
    std::getline(cells, host, ',');
    std::getline(cells, gpu, ',');
    if (variant.empty() || std::ranges::count(line, ',') != 3)
      throw std::invalid_argument(fmt::format("{}:{}: four cells are expected: cut?", file, number));
    if (list.empty() || list.back().variant != variant)
      list.push_back({.variant = variant, .why_not = "", .counts = {}});
    if (words == kLeastWords)
      list.back().least = std::atof(host.c_str()), list.back().took = std::atof(gpu.c_str());
    else if (words.empty())
      list.back().why_not = "the host cannot count it";
    else
      list.back().counts.push_back({words, std::atof(host.c_str()), std::atof(gpu.c_str())});
  }
  return list;
}

}  // namespace klab
