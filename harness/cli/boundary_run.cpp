#include "harness/cli/boundary_run.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/check/drawn_cases.h"
#include "harness/cli/command.h"
#include "harness/core/select.h"
#include "harness/report/table.h"
#include "reference/boundaries.h"

namespace klab {
namespace {

using BoundaryJson = nlohmann::ordered_json;

/// "below 12  on 3  above 40": the sides that the contract wants, with their cases.
std::string cases_text(const BoundaryCount& b) {
  std::string text;
  for (size_t side = 0; side < kSideNames.size(); ++side)
    if ((b.wanted >> side & 1) != 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : "  ", kSideNames[side], b.cases[side]);
  return text;
}

void print_boundary(const BoundaryCount& b, size_t width) {
  const std::string name = fmt::format("  {:<{}}  ", b.name + " (" + b.of + ")", width);
  if (!b.broken.empty())
    fmt::print("{}{}\n", name, inked("cannot be counted: " + b.broken, Ink::red));
  else if (b.missing() != 0)
    fmt::print("{}{}  {}\n", name, cases_text(b), inked("no case: " + names_of_sides(b.missing()), Ink::red));
  else
    fmt::print("{}{}{}\n", name, cases_text(b),
               b.missing_if_quick() == 0
                   ? ""
                   : inked("  not with --quick: " + names_of_sides(b.missing_if_quick()), Ink::dim));
}

BoundaryJson sides_json(unsigned sides) {
  BoundaryJson list = BoundaryJson::array();
  for (size_t side = 0; side < kSideNames.size(); ++side)
    if ((sides >> side & 1) != 0) list.push_back(kSideNames[side]);
  return list;
}

BoundaryJson boundary_json(const BoundaryCount& b) {
  BoundaryJson cases;
  for (size_t side = 0; side < kSideNames.size(); ++side)
    if ((b.wanted >> side & 1) != 0) cases[std::string(kSideNames[side])] = b.cases[side];
  BoundaryJson j = {{"boundary", b.name},
                    {"of", b.of},
                    {"cases", cases},
                    {"not_met", sides_json(b.missing())},
                    {"not_met_if_quick", sides_json(b.missing_if_quick())}};
  if (!b.broken.empty()) j["problem"] = b.broken;
  return j;
}

/// Names the rungs whose cases meet less than those of the others, which support other shapes.
void print_variant(const VariantCount& v) {
  if (v.cases == 0)
    fmt::print("  {}\n", inked(v.variant + " supports no shape of these cases", Ink::dim));
  else if (!v.missing.empty())
    fmt::print("  {}\n", inked(fmt::format("{}, {} cases, does not meet {}", v.variant, v.cases,
                                           fmt::join(v.missing, "; ")),
                               Ink::dim));
}

/// "214 pairs of conditions; no shape has m one less, n one more; ... and 3 more", with the first few.
std::string conditions_text(const BoundaryCounts& counts) {
  constexpr size_t kNamed = 4;
  std::string text = fmt::format("{} pairs of conditions", counts.pairs);
  const std::vector<std::string>& left_out = counts.pairs_left_out;
  if (left_out.empty()) return text;
  const size_t named = std::min(left_out.size(), kNamed);
  text += fmt::format("; no shape that is legal and cheap enough has {}",
                      fmt::join(left_out.begin(), left_out.begin() + long(named), "; "));
  return left_out.size() > named ? text + fmt::format("; and {} more", left_out.size() - named) : text;
}

BoundaryJson variants_json(const BoundaryCounts& counts) {
  BoundaryJson list = BoundaryJson::array();
  for (const VariantCount& v : counts.variants)
    list.push_back({{"variant", v.variant}, {"cases", v.cases}, {"not_met", v.missing}});
  return list;
}

}  // namespace

int run_boundaries(const BoundaryRun& run) {
  int wanted = 0, met = 0, ops = 0;
  std::string problems;
  BoundaryJson all = BoundaryJson::array();
  for (const Selected& s : select(run.what, run.backend)) {
    const BoundaryCounts counts = count_boundaries(*s.op, s.variants, {.seed = settings().seed, .done = {}});
    const std::string& op = s.op->op.name;
    ++ops;
    wanted += counts.wanted();
    met += counts.met();
    BoundaryJson list = BoundaryJson::array();
    size_t width = 0;
    for (const BoundaryCount& b : counts.boundaries) width = std::max(width, b.name.size() + b.of.size() + 3);
    if (!run.json)
      fmt::print("{}  coverage {} of {}  {}\n", inked(op, Ink::bold), counts.met(), counts.wanted(),
                 inked(fmt::format("{} cases, {} with --quick", counts.cases, counts.quick_cases), Ink::dim));
    for (const BoundaryCount& b : counts.boundaries) {
      if (run.json)
        list.push_back(boundary_json(b));
      else
        print_boundary(b, width);
      if (!b.broken.empty())
        problems += fmt::format("  {}: boundary \"{}\" cannot be counted: {}\n", op, b.name, b.broken);
      else if (b.missing() != 0)
        problems += fmt::format("  {}: boundary \"{}\" ({}): no case of a check meets: {}\n", op, b.name,
                                b.of, names_of_sides(b.missing()));
    }
    if (!run.json) {
      fmt::print("  {}\n", inked(conditions_text(counts), Ink::dim));
      for (const VariantCount& v : counts.variants) print_variant(v);
    }
    if (run.json)
      all.push_back({{"op", op},
                     {"wanted", counts.wanted()},
                     {"met", counts.met()},
                     {"cases", counts.cases},
                     {"quick_cases", counts.quick_cases},
                     {"boundaries", list},
                     {"pairs", counts.pairs},
                     {"pairs_left_out", counts.pairs_left_out},
                     {"variants", variants_json(counts)}});
    std::fflush(stdout);
  }
  if (run.json) {
    fmt::print("{}\n", BoundaryJson{{"wanted", wanted}, {"met", met}, {"ops", all}}.dump(2));
  } else {
    if (!problems.empty())
      fmt::print(
          "{}\n{}Draw such inputs in arrange(), or state how to reach them: Boundary's last argument.\n",
          inked("Not met:", Ink::red), problems);
    fmt::print("{} ops: coverage {} of {}\n", ops, met, wanted);
  }
  return problems.empty() ? exit_ok : exit_failed;
}

}  // namespace klab
