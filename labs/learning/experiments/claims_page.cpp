#include "labs/learning/experiments/claims_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <stdexcept>

namespace klab::learning {
namespace {

constexpr const char* kBegin = "<!-- claims: ";
constexpr const char* kEnd = "<!-- end of claims -->";

/// Returns a text as a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string verdict_cell(const Standing& s) {
  const std::string text = verdict_text(s);
  const size_t word = std::min(text.find(' '), text.size());
  return s.entry ? "**" + text.substr(0, word) + "**" + cell(text.substr(word)) : cell(text);
}

/// Returns the claims of an experiment, or the claim of this id.
std::vector<const Standing*> of_experiment(std::span<const Standing> all, const std::string& name) {
  std::vector<const Standing*> list;
  for (const Standing& s : all)
    if (s.claim.experiment() == name || s.claim.id == name) list.push_back(&s);
  return list;
}

/// Returns "41 held, 12 refuted, 9 depend".
std::string counts_text(std::span<const Standing> all) {
  int held = 0, refuted = 0, depend = 0;
  for (const Standing& s : all)
    if (s.entry)
      ++(s.entry->verdict() == ClaimVerdict::held      ? held
         : s.entry->verdict() == ClaimVerdict::refuted ? refuted
                                                       : depend);
  return fmt::format("{} held, {} were refuted, {} depend on something that the line names", held, refuted,
                     depend);
}

}  // namespace

std::string verdict_text(const Standing& s) {
  if (!s.entry) return s.missing;
  const std::string on = s.entry->depends_text();
  return name_of(s.entry->verdict()) + (on.empty() ? "" : " " + on);
}

std::string measured_text(const Standing& s) {
  if (!s.entry) return s.claim.metric;
  return s.claim.metric + ": " + claim_interval(s.entry->low(), s.entry->high());
}

std::string how_text(const Standing& s) {
  if (!s.entry) return "";
  const ClaimEntry& e = *s.entry;
  if (s.claim.kind == ClaimKind::gpu)
    return fmt::format("{} {}{}, times of [{}](../{})", e.rows.size(),
                       s.claim.slower.find(".cpu.") == std::string::npos ? "size" : "processor",
                       e.rows.size() == 1 ? "" : "s", s.processor, e.rows_of);
  return fmt::format("{}, {}, {}",
                     s.claim.kind == ClaimKind::exact ? "exact" : fmt::format("{} seeds", e.seeds.size()),
                     s.processor, e.date);
}

std::string claims_page(std::span<const Standing> all) {
  std::string page = fmt::format(
      "# Claims on record\n\n"
      "Courses, plans, papers and blog posts state how learning and rendering behave. Each claim below has a "
      "metric, and a range of\n"
      "it in which the claim holds. An experiment measures the metric, and the rule gives the verdict: "
      "*held* if every value lies in\n"
      "the range, *refuted* if none does, *depends* otherwise, with two cases that differ. Where something "
      "is random, a verdict\n"
      "takes three seeds at least; counts and arithmetic are *exact* and take one run.\n\n"
      "{} claims are on record: {}.\n\n"
      "Made by `./klab claims --page` from `reports/recorded/*/claims.json`. `./klab claims --run NAME` "
      "decides a claim again next\n"
      "to its record, `./klab claims --all` records what this machine lacks, and `./klab experiment NAME "
      "--html FILE` draws it.\n",
      std::ranges::count_if(all, [](const Standing& s) { return s.entry.has_value(); }), counts_text(all));
  std::string before;
  for (const Standing& s : all) {
    const std::string name = s.claim.experiment();
    if (name == before) continue;
    before = name;
    const auto list = of_experiment(all, name);
    if (std::ranges::none_of(list, [](const Standing* c) { return c->entry.has_value(); })) continue;
    const Experiment* e = experiment_of(s.claim);
    page += fmt::format(
        "\n## {}\n\n{}\n\n| claim | said in | verdict | measured | holds | how | decides it |\n"
        "|---|---|---|---|---|---|---|\n",
        name,
        e != nullptr ? fmt::format("`klab experiment {}`: {}{}.", name,
                                   std::string(1, char(std::toupper(e->about[0]))), e->about.substr(1))
                     : "Rungs that a GPU has timed, at each recorded size.");
    for (const Standing* c : list)
      if (c->entry)
        page += fmt::format("| {} | {} | {} | {} | {} | {} | `klab {}` |\n", cell(c->claim.said),
                            c->claim.source, verdict_cell(*c), cell(measured_text(*c)), c->claim.rule.text(),
                            how_text(*c), c->claim.command());
  }
  page += "\n## Not yet recorded\n\n| claim | said in | holds | why | decides it |\n|---|---|---|---|---|\n";
  for (const Standing& s : all)
    if (!s.entry)
      page += fmt::format("| {} | {} | {}: {} | {} | `klab {}` |\n", cell(s.claim.said), s.claim.source,
                          cell(s.claim.metric), s.claim.rule.text(), cell(s.missing), s.claim.command());
  return page;
}

std::string with_claims(const std::string& lesson, std::span<const Standing> all, const std::string& where) {
  std::string out;
  std::istringstream lines(lesson);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (inside && line != kEnd) continue;
    inside = line.starts_with(kBegin);
    out += line + "\n";
    if (!inside) continue;
    out += "| claim | verdict | measured | holds |\n|---|---|---|---|\n";
    std::istringstream names(line.substr(std::string_view(kBegin).size()));
    for (std::string name; names >> name && name != "-->";) {
      const auto list = of_experiment(all, name);
      if (list.empty())
        throw std::invalid_argument(
            fmt::format("{}: no claim and no experiment with claims is {}", where, name));
      for (const Standing* s : list)
        out += fmt::format("| {} | {} | {} | {} |\n", cell(s->claim.said), verdict_cell(*s),
                           cell(measured_text(*s)), s->claim.rule.text());
    }
  }
  if (inside) throw std::invalid_argument(fmt::format("{}: a table of claims has no line {}", where, kEnd));
  return out;
}

}  // namespace klab::learning
