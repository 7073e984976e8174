#include "harness/compare/differences.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "harness/compare/comparison.h"
#include "harness/timing/statistics.h"

namespace klab {
namespace {

/// All rows of one key in one run.
using Rows = std::vector<const Row*>;

std::map<std::string, Rows> by_key(const Recording& run) {
  std::map<std::string, Rows> all;
  for (const Row& r : run.rows) all[key_of(r)].push_back(&r);
  return all;
}

/// Returns the different texts, "a, b".
std::string texts_of(const Rows& rows, const std::function<std::string(const Row&)>& text) {
  std::set<std::string> all;
  for (const Row* r : rows) all.insert(text(*r));
  std::string list;
  for (const std::string& t : all) list += (list.empty() ? "" : ", ") + t;
  return list;
}

/// A field that is the same in each row of a key unless something changed. `text` is empty where the row has none.
struct TextField {
  const char* name;
  std::function<std::string(const Row&)> text;
};

std::string names_of(const std::vector<Resource>& resources) {
  std::set<std::string> names;  // their order is measured
  for (const Resource& r : resources) names.insert(r.ceiling);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " + ") + name;
  return text;
}

std::string text_of(const std::map<std::string, int64_t>& needs) {
  std::string text;
  for (const auto& [name, count] : needs)
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", name, count);
  return text;
}

/// Returns the words of a reason, without the numbers that differ each time.
std::string words_of(const std::string& reason) {
  return reason.substr(0, reason.find_first_of("0123456789"));
}

const std::vector<TextField>& text_fields() {
  static const std::vector<TextField> list = {
      {"lab", [](const Row& r) { return r.lab; }},
      {"backend", [](const Row& r) { return r.backend; }},
      {"name of the size", [](const Row& r) { return r.size; }},
      {"cache", [](const Row& r) { return r.seconds.empty() ? "" : r.cache; }},
      {"bytes a call in the contract", [](const Row& r) { return fmt::format("{}", r.bytes); }},
      {"operations a call in the contract", [](const Row& r) { return fmt::format("{}", r.flops); }},
      {"resources of a call", [](const Row& r) { return names_of(r.resources); }},
      {"needs of the kernel", [](const Row& r) { return text_of(r.needs); }},
      {"mark of the time", [](const Row& r) { return r.error.substr(0, r.error.find(':')); }},
      {"reason for no time", [](const Row& r) { return words_of(r.skipped); }},
      {"failed check", [](const Row& r) { return words_of(r.wrong); }},
  };
  return list;
}

/// Returns the median of a number over all rows of a key that have it.
std::optional<double> middle(const Rows& rows,
                             const std::function<void(const Row&, std::vector<double>&)>& add) {
  std::vector<double> all;
  for (const Row* r : rows) add(*r, all);
  if (all.empty()) return std::nullopt;
  return median(all);
}

/// A measured number, of which only a large difference says something.
struct NumberField {
  const char* name;
  std::function<void(const Row&, std::vector<double>&)> add;
  std::function<bool(double, double)> differs;
  std::function<std::string(double)> text;
};

bool apart(double a, double b, double factor) { return std::max(a, b) > factor * std::min(a, b); }

const std::vector<NumberField>& number_fields() {
  using Values = std::vector<double>;
  static const std::vector<NumberField> list = {
      {"rounds a session",
       [](const Row& r, Values& v) {
         if (!r.seconds.empty()) v.push_back(double(r.seconds.size()));
       },
       [](double a, double b) { return a != b; }, [](double x) { return fmt::format("{:.3g}", x); }},
      {"length of a sample",
       [](const Row& r, Values& v) {
         if (r.iterations > 1 && !r.seconds.empty()) v.push_back(double(r.iterations) * median(r.seconds));
       },
       [](double a, double b) { return apart(a, b, 1.8); },
       [](double x) { return fmt::format("{:.2g} ms", 1e3 * x); }},
      {"speed of the ceiling",
       [](const Row& r, Values& v) {
         if (r.ceiling_per_second > 0) v.push_back(r.ceiling_per_second);
       },
       [](double a, double b) { return apart(a, b, kMoved); },
       [](double x) { return fmt::format("{:.3g}/s", x); }},
      {"hardware threads that other work kept busy",
       [](const Row& r, Values& v) {
         if (r.others) v.push_back(*r.others);
       },
       [](double a, double b) { return std::abs(a - b) > kOthers; },
       [](double x) { return fmt::format("{:.2f}", x); }},
      {"share of the time that threads waited for a processor",
       [](const Row& r, Values& v) { v.insert(v.end(), r.waited.begin(), r.waited.end()); },
       [](double a, double b) { return std::abs(a - b) > kDisturbed; },
       [](double x) { return fmt::format("{:.0f} %", 100 * x); }},
      {"core-to-core latency",
       [](const Row& r, Values& v) { v.insert(v.end(), r.core_to_core_ns.begin(), r.core_to_core_ns.end()); },
       [](double a, double b) { return apart(a, b, 1.5); },
       [](double x) { return fmt::format("{:.0f} ns", x); }},
  };
  return list;
}

/// Collects differences, and merges the same one of several variants into a line.
class Differences {
 public:
  void add(const std::string& what, const std::string& base, const std::string& fresh,
           const std::string& variant) {
    auto& variants = found_[what][{base, fresh}];
    if (std::find(variants.begin(), variants.end(), variant) == variants.end()) variants.push_back(variant);
  }

  void add_number(const NumberField& field, double base, double fresh, const std::string& variant) {
    Spread& s = spreads_[field.name];
    s.text = field.text;
    s.base.push_back(base);
    s.fresh.push_back(fresh);
    if (std::find(s.variants.begin(), s.variants.end(), variant) == s.variants.end())
      s.variants.push_back(variant);
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> list;
    for (const auto& [what, values] : found_)
      for (const auto& [value, variants] : values)
        list.push_back(fmt::format("{}: {} against {} ({})", what, shown(value.first), shown(value.second),
                                   concerned(variants)));
    for (const auto& [what, s] : spreads_)
      list.push_back(fmt::format("{}: {} against {} ({})", what, s.text(median(s.base)),
                                 s.text(median(s.fresh)), concerned(s.variants)));
    return list;
  }

 private:
  struct Spread {
    std::function<std::string(double)> text;
    std::vector<double> base, fresh;
    std::vector<std::string> variants;
  };
  static std::string shown(const std::string& value) { return value.empty() ? "none" : value; }
  static std::string concerned(const std::vector<std::string>& variants) {
    return variants.size() == 1 ? variants[0]
                                : fmt::format("{} and {} more", variants[0], variants.size() - 1);
  }
  std::map<std::string, std::map<std::pair<std::string, std::string>, std::vector<std::string>>> found_;
  std::map<std::string, Spread> spreads_;
};

/// Returns the ceiling that binds in most of the rows.
std::string usual_ceiling(const Rows& rows) {
  std::map<std::string, int> count;
  for (const Row* r : rows)
    if (!r->ceiling.empty()) ++count[r->ceiling];
  std::string most;
  for (const auto& [name, n] : count)
    if (most.empty() || n > count[most]) most = name;
  return most;
}

/// Which ceiling binds is measured: two that limit almost equally take turns, in both runs.
bool bound_by(const std::string& ceiling, const Rows& rows) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row* r) { return r->ceiling == ceiling; });
}

}  // namespace

std::vector<std::string> differences_of(const Recording& base, const Recording& fresh) {
  std::vector<std::string> list;
  const auto whole = [](const Recording& run, const std::function<std::string(const Row&)>& text) {
    Rows rows;
    for (const Row& r : run.rows) rows.push_back(&r);
    return texts_of(rows, text);
  };
  const std::pair<const char*, std::string Row::*> of_run[] = {{"commit", &Row::commit},
                                                               {"instruction set", &Row::instruction_set}};
  for (const auto& [name, field] : of_run) {
    const auto text = [f = field](const Row& r) { return r.*f; };
    if (const auto was = whole(base, text), is = whole(fresh, text); was != is)
      list.push_back(
          fmt::format("{} {} against {}", name, was.empty() ? "unknown" : was, is.empty() ? "unknown" : is));
  }
  Differences found;
  const auto theirs = by_key(fresh);
  for (const auto& [key, rows] : by_key(base)) {
    const auto at = theirs.find(key);
    if (at == theirs.end()) continue;
    const std::string& variant = rows.front()->variant;
    for (const TextField& field : text_fields())
      if (const auto was = texts_of(rows, field.text), is = texts_of(at->second, field.text); was != is)
        found.add(field.name, was, is, variant);
    if (const auto was = usual_ceiling(rows), is = usual_ceiling(at->second);
        was != is && !(bound_by(was, at->second) && bound_by(is, rows)))
      found.add("ceiling that binds", was, is, variant);
    for (const NumberField& field : number_fields()) {
      const auto was = middle(rows, field.add), is = middle(at->second, field.add);
      if (was && is && field.differs(*was, *is)) found.add_number(field, *was, *is, variant);
      if (was.has_value() != is.has_value())
        found.add(field.name, was ? "recorded" : "not recorded", is ? "recorded" : "not recorded", variant);
    }
  }
  for (std::string& line : found.lines()) list.push_back(std::move(line));
  return list;
}

Treatment treatment_of(std::string_view column) {
  using enum Treatment;
  static const std::map<std::string_view, Treatment> all = {
      {"row", follows},
      {"rows", follows},
      {"run", follows},  // how the file is cut; a part of a run is refused
      {"op", key},
      {"variant", key},
      {"shape", key},
      {"threads", key},
      {"session", key},
      {"fingerprint", named},
      {"commit", named},
      {"lab", named},
      {"backend", named},
      {"instruction_set", named},
      {"size", named},
      {"cache", named},
      {"rounds", named},
      {"iterations", named},
      {"skipped", named},
      {"wrong", named},
      {"bytes", named},
      {"flops", named},
      {"ceiling", named},
      {"ceiling_per_second", named},
      {"error", named},
      {"needs", named},
      {"others", named},
      {"waited", named},
      {"core_to_core_ns", named},
      {"resources", named},
      {"seconds", judged},
      {"shares", judged},
      {"counts", judged},
      {"confidence", follows},
      {"seconds_median", follows},
      {"seconds_low", follows},
      {"seconds_high", follows},
      {"gb_per_s", follows},
      {"gflop_per_s", follows},
      {"over_naive", follows},
      {"over_naive_low", follows},
      {"over_naive_high", follows},
      {"over_parent", follows},
      {"over_parent_low", follows},
      {"over_parent_high", follows},
      {"peer", follows},
      {"over_peer", follows},
      {"over_peer_low", follows},
      {"over_peer_high", follows},
      {"of_ceiling", follows},
      {"of_ceiling_low", follows},
      {"of_ceiling_high", follows},
      {"verdict", follows},
      {"expected", follows},
      {"worst_error", follows},  // the code's promise, and its accuracy
  };
  const auto at = all.find(column);
  if (at == all.end())
    throw std::out_of_range(
        fmt::format("differences.cpp: the column '{}' of a row has no treatment", column));
  return at->second;
}

}  // namespace klab
