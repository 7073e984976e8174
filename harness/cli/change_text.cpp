#include "harness/cli/change_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/records/json_schema.h"
#include "harness/report/table.h"

namespace klab {
namespace {

/// Orders changes: wrong, slower, faster, undecided, same; the largest change first within each.
int rank_of(const Change& c) {
  if (!c.failed.empty()) return 0;
  switch (c.judgement.verdict) {
    case Verdict::slower:
      return 1;
    case Verdict::faster:
      return 2;
    case Verdict::undecided:
      return 3;
    case Verdict::same:
      break;
  }
  return 4;
}

std::vector<const Change*> sorted(const CompareResult& result) {
  std::vector<const Change*> list;
  for (const Change& c : result.changes) list.push_back(&c);
  std::stable_sort(list.begin(), list.end(), [](const Change* a, const Change* b) {
    if (rank_of(*a) != rank_of(*b)) return rank_of(*a) < rank_of(*b);
    return std::abs(a->judgement.change.value) > std::abs(b->judgement.change.value);
  });
  return list;
}

std::string verdict_text(const Change& c) {
  return c.failed.empty() ? name_of(c.judgement.verdict) : "WRONG";
}

Ink ink_of(const Change& c) {
  switch (rank_of(c)) {
    case 0:
    case 1:
      return Ink::red;
    case 2:
      return Ink::green;
    case 3:
      return Ink::yellow;
    default:
      return Ink::plain;
  }
}

std::string percent(double log_ratio) {
  if (!std::isfinite(log_ratio)) return "?";
  return fmt::format("{:+.1f}", 100 * std::expm1(log_ratio));
}

bool judged(const Change& c) { return c.failed.empty() && c.measured; }

/// Returns a time, or nothing where none was measured.
std::string time_of(double seconds) { return seconds > 0 ? seconds_text(seconds) : ""; }

std::string change_of(const Change& c) { return judged(c) ? percent(c.judgement.change.value) + " %" : ""; }

std::string interval_of(const Change& c) {
  if (!judged(c) || !std::isfinite(c.judgement.change.low)) return "";
  return fmt::format("{} .. {}", percent(c.judgement.change.low), percent(c.judgement.change.high));
}

std::string margin_of(const Change& c) {
  return judged(c) ? percent(c.judgement.margin).substr(1) + " %" : "";
}

std::string place_of(const Change& c) { return c.size.empty() ? c.shape : c.size; }

/// Returns the anchor's name, shortened if it belongs to the same op.
std::string anchor_of(const Change& c) {
  return c.anchor.starts_with(c.op + ".") ? c.anchor.substr(c.op.size() + 1) : c.anchor;
}

std::string units_of(const Change& c) {
  return judged(c) ? fmt::format("{}/{}", c.base_units, c.fresh_units) : "";
}

/// Names what is in one run only: all that is gone, since a gate that loses what it watches must say so.
std::string lists_text(const CompareResult& result, bool list, const char* bullet) {
  constexpr size_t kNamed = 20;  // without --list-missing
  std::string text;
  for (const auto& [what, names] :
       {std::pair{"only in the base", &result.missing}, std::pair{"only in the new run", &result.added}}) {
    if (names->empty()) continue;
    const size_t named = list ? names->size() : std::min(names->size(), kNamed);
    text += fmt::format("{}{} {}:\n", bullet, names->size(), what);
    for (size_t i = 0; i < named; ++i) text += fmt::format("  {}{}\n", bullet, (*names)[i]);
    if (named < names->size())
      text += fmt::format("  {}and {} more (--list-missing names them)\n", bullet, names->size() - named);
  }
  return text;
}

std::string escaped_xml(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  return out;
}

std::string sentence(const Change& c) {
  if (!c.failed.empty()) return c.failed;
  std::string text = verdict_text(c);
  if (judged(c))
    text += fmt::format(" {}, {}margin {}, measured against {}", change_of(c),
                        interval_of(c).empty() ? "" : fmt::format("interval {} %, ", interval_of(c)),
                        margin_of(c), c.anchor);
  return c.reason.empty() ? text : text + "; " + c.reason;
}

}  // namespace

std::string change_summary(const CompareResult& result) {
  std::string text;
  const auto add = [&](int count, const char* name) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  };
  add(int(std::count_if(result.changes.begin(), result.changes.end(),
                        [](const Change& c) { return !c.failed.empty(); })),
      "WRONG");
  for (const Verdict v : {Verdict::slower, Verdict::faster, Verdict::same, Verdict::undecided})
    add(result.count(v), name_of(v));
  return text;
}

std::string change_text(const CompareResult& result, const ChangeTextOptions& options) {
  std::string text;
  for (const std::string& note : result.notes) text += inked("note: " + note, Ink::yellow) + "\n";
  Table table({{"variant"},
               {"size"},
               {"verdict"},
               {"change", Column::Kind::right},
               {"interval %", Column::Kind::right},
               {"margin", Column::Kind::right},
               {"base", Column::Kind::right},
               {"new", Column::Kind::right},
               {result.sessions ? "sessions" : "rounds", Column::Kind::right},
               {"against"}});
  std::string reasons;
  for (const Change* c : sorted(result)) {
    table.add({c->variant, place_of(*c), Cell(verdict_text(*c), ink_of(*c)), change_of(*c),
               Cell(interval_of(*c), Ink::dim), Cell(margin_of(*c), Ink::dim), time_of(c->base_seconds),
               time_of(c->fresh_seconds), Cell(units_of(*c), Ink::dim), Cell(anchor_of(*c), Ink::dim)});
    if (!c->failed.empty() || !c->reason.empty())
      reasons +=
          fmt::format("  {}, {}: {}\n", c->variant, place_of(*c), c->failed.empty() ? c->reason : c->failed);
  }
  text += table.text() + reasons + lists_text(result, options.list_missing, "");
  text += inked(change_summary(result), Ink::bold);
  if (std::ranges::any_of(result.changes, [](const Change& c) { return judged(c); }))
    text += fmt::format(
        "  (change: of time over time of the anchor; margin: the larger of {:.3g} % and the noise "
        "floor)",
        100 * options.threshold);
  text += "\n";
  return text;
}

std::string change_markdown(const CompareResult& result, const ChangeTextOptions& options) {
  std::string text = "### Speed: " + change_summary(result) + "\n\n";
  for (const std::string& note : result.notes) text += "> " + note + "\n\n";
  text += "| variant | size | verdict | change | interval % | margin | base | new | against |\n";
  text += "|---|---|---|--:|--:|--:|--:|--:|---|\n";
  std::string same;
  for (const Change* c : sorted(result)) {
    std::string& into = rank_of(*c) == 4 ? same : text;
    into += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} |\n", c->variant, place_of(*c),
                        rank_of(*c) <= 1 ? "**" + verdict_text(*c) + "**" : verdict_text(*c), change_of(*c),
                        interval_of(*c), margin_of(*c), time_of(c->base_seconds), time_of(c->fresh_seconds),
                        anchor_of(*c));
  }
  text += same;
  std::string reasons;
  for (const Change* c : sorted(result))
    if (!c->failed.empty() || !c->reason.empty())
      reasons += fmt::format("- `{}`, {}: {}\n", c->variant, place_of(*c),
                             c->failed.empty() ? c->reason : c->failed);
  if (!reasons.empty()) text += "\n" + reasons;
  const std::string lists = lists_text(result, options.list_missing, "- ");
  if (!lists.empty()) text += "\n" + lists;
  return text;
}

nlohmann::json change_json(const CompareResult& result, int exit_code) {
  const auto finite = [](double log_ratio) {
    return std::isfinite(log_ratio) ? nlohmann::json(std::expm1(log_ratio)) : nlohmann::json(nullptr);
  };
  // What was not computed is null, not 0.
  const auto positive = [](double value) {
    return value > 0 ? nlohmann::json(value) : nlohmann::json(nullptr);
  };
  nlohmann::json changes = nlohmann::json::array();
  for (const Change& c : result.changes) {
    const auto unit = [&](int count) { return c.measured ? nlohmann::json(count) : nlohmann::json(nullptr); };
    nlohmann::json j = {
        {"lab", c.lab},
        {"op", c.op},
        {"variant", c.variant},
        {"size", c.size},
        {"shape", c.shape},
        {"cache", c.cache},
        {"threads", c.threads},
        {"verdict", verdict_text(c)},
        {"base_seconds", positive(c.base_seconds)},
        {"new_seconds", positive(c.fresh_seconds)},
        {"anchor", c.anchor.empty() ? nlohmann::json(nullptr) : nlohmann::json(c.anchor)},
        {"base_units", unit(c.base_units)},
        {"new_units", unit(c.fresh_units)},
        {"base_left_out", c.base_seconds > 0 ? nlohmann::json(c.base_left_out) : nlohmann::json(nullptr)},
        {"left_out", c.fresh_seconds > 0 ? nlohmann::json(c.fresh_left_out) : nlohmann::json(nullptr)},
        {"reason", c.failed.empty() ? c.reason : c.failed}};
    if (judged(c)) {
      j["change"] = finite(c.judgement.change.value);
      j["low"] = finite(c.judgement.change.low);
      j["high"] = finite(c.judgement.change.high);
      j["margin"] = finite(c.judgement.margin);
      j["p_slower"] = c.judgement.p_slower;
      j["p_faster"] = c.judgement.p_faster;
      j["p_same"] = c.judgement.p_same;
    }
    changes.push_back(std::move(j));
  }
  return with_schema("changes", nlohmann::json{{"summary",
                                                {{"slower", result.count(Verdict::slower)},
                                                 {"faster", result.count(Verdict::faster)},
                                                 {"same", result.count(Verdict::same)},
                                                 {"undecided", result.count(Verdict::undecided)}}},
                                               {"exit_code", exit_code},
                                               {"units", result.sessions ? "sessions" : "rounds"},
                                               {"notes", result.notes},
                                               {"missing", result.missing},
                                               {"added", result.added},
                                               {"changes", changes}});
}

std::string change_junit(const CompareResult& result) {
  int failures = 0;
  std::string cases;
  for (const Change& c : result.changes) {
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\"{}>", escaped_xml(c.variant),
        escaped_xml(fmt::format("{}, {}, {} threads, {}", c.variant, place_of(c), c.threads, c.cache)),
        c.fresh_seconds > 0 ? fmt::format(" time=\"{:.9f}\"", c.fresh_seconds) : "");
    if (rank_of(c) <= 1) {
      ++failures;
      cases += fmt::format("\n      <failure type=\"{}\" message=\"{}\"/>\n    ", verdict_text(c),
                           escaped_xml(sentence(c)));
    } else if (rank_of(c) == 3) {
      cases += fmt::format("\n      <skipped message=\"{}\"/>\n    ", escaped_xml(sentence(c)));
    } else {
      cases += fmt::format("\n      <system-out>{}</system-out>\n    ", escaped_xml(sentence(c)));
    }
    cases += "</testcase>\n";
  }
  for (const std::string& gone : result.missing)
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\">\n      <skipped message=\"only in the base\"/>\n    "
        "</testcase>\n",
        escaped_xml(gone.substr(0, gone.find(','))), escaped_xml(gone));
  const auto attributes = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
                                      result.changes.size() + result.missing.size(), failures,
                                      size_t(result.count(Verdict::undecided)) + result.missing.size());
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"klab\" {0}>\n  <testsuite "
      "name=\"speed\" "
      "{0}>\n{1}  </testsuite>\n</testsuites>\n",
      attributes, cases);
}

}  // namespace klab
