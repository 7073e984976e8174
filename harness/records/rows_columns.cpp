#include "harness/records/rows_columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

namespace klab::rows_csv {
namespace {

template <class Number>
Number number_of(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw CellError(
        fmt::format("'{}' is not {}", text, std::is_integral_v<Number> ? "a whole number" : "a number"));
  if constexpr (!std::is_integral_v<Number>)
    if (!std::isfinite(value)) throw CellError(fmt::format("'{}' is not a finite number", text));
  return value;
}

double positive(const std::string& text) {
  const double value = number_of<double>(text);
  if (!(value > 0)) throw CellError(fmt::format("'{}' is not greater than zero", text));
  return value;
}

double not_negative(const std::string& text) {
  const double value = number_of<double>(text);
  if (!(value >= 0)) throw CellError(fmt::format("'{}' is negative", text));
  return value;
}

template <class Number>
Number at_least_one(const std::string& text) {
  const Number value = number_of<Number>(text);
  if (value < 1) throw CellError(fmt::format("'{}' is less than 1", text));
  return value;
}

Column text_column(const char* name, std::string Row::*field) {
  return {name, [field](const Line& l) { return l.row.*field; },
          [field](Line& l, const std::string& text) { l.row.*field = text; }};
}

// the shortest text that reads back as the same number
std::string digits(double v) { return fmt::format("{}", v); }

/// Adds three columns for an optional estimate; they are empty if it is absent.
void add_estimate(std::vector<Column>& list, const char* value, const char* low, const char* high,
                  Estimate Line::*field) {
  const auto part = [&](const char* name, double Estimate::*member) {
    list.push_back(
        {name,
         [=](const Line& l) { return (l.*field).value > 0 ? digits((l.*field).*member) : std::string(); },
         [=](Line& l, const std::string& text) {
           if (!text.empty()) (l.*field).*member = positive(text);
         }});
  };
  part(value, &Estimate::value);
  part(low, &Estimate::low);
  part(high, &Estimate::high);
}

/// Returns a column for a number of timed rows; empty in rows that were skipped.
Column timed_column(const char* name, const std::function<double(const Row&)>& get,
                    const std::function<void(Row&, double)>& set, double (*parse)(const std::string&)) {
  return {name, [get](const Line& l) { return l.row.seconds.empty() ? std::string() : digits(get(l.row)); },
          [set, parse](Line& l, const std::string& text) {
            if (!text.empty()) set(l.row, parse(text));
          }};
}

std::vector<double> split_numbers(const std::string& text, double (*parse)(const std::string&)) {
  std::vector<double> times;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    times.push_back(parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (text.ends_with(';')) throw CellError("ends in ';', so that a number is missing");
  return times;
}

std::string join_numbers(const std::vector<double>& times) {
  std::string text;
  for (const double t : times) {
    if (!text.empty()) text += ';';
    text += digits(t);
  }
  return text;
}

/// Formats counts as "sectors=4096;wavefronts=512".
std::string join_counts(const std::map<std::string, int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", name, count);
  return text;
}

std::map<std::string, int64_t> split_counts(const std::string& text) {
  std::map<std::string, int64_t> counts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      throw CellError(fmt::format("'{}' is not NAME=COUNT", part));
    const auto count = number_of<int64_t>(part.substr(equals + 1));
    if (count < 0) throw CellError(fmt::format("'{}' is negative", part));
    if (!counts.emplace(part.substr(0, equals), count).second)
      throw CellError(fmt::format("'{}' is there twice", part.substr(0, equals)));
    begin = end + 1;
  }
  return counts;
}

/// Without these columns it is unknown what was measured, or whether the file is complete.
const std::set<std::string_view> kNeeded = {
    "row",   "rows",    "run",    "fingerprint",    "op",          "variant",      "shape",
    "cache", "threads", "rounds", "seconds_median", "seconds_low", "seconds_high", "bytes",
    "flops", "seconds"};
/// Formats resources as "transcendental f32=3.3e-05;read L3=3e-05".
std::string join_resources(const std::vector<Resource>& resources) {
  std::string text;
  for (const Resource& r : resources)
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", r.ceiling, digits(r.seconds));
  return text;
}

std::vector<Resource> split_resources(const std::string& text) {
  std::vector<Resource> resources;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      throw CellError(fmt::format("'{}' is not CEILING=SECONDS", part));
    resources.push_back({part.substr(0, equals), positive(part.substr(equals + 1))});
    begin = end + 1;
  }
  return resources;
}

std::vector<Column> make_columns() {
  std::vector<Column> list;
  list.push_back({"row", [](const Line& l) { return std::to_string(l.index); },
                  [](Line& l, const std::string& t) { l.index = at_least_one<int64_t>(t); }});
  list.push_back({"rows", [](const Line& l) { return std::to_string(l.count); },
                  [](Line& l, const std::string& t) { l.count = at_least_one<int64_t>(t); }});
  list.push_back({"run", [](const Line& l) { return std::string(l.complete ? "complete" : "interrupted"); },
                  [](Line& l, const std::string& t) {
                    if (t != "complete" && t != "interrupted")
                      throw CellError(fmt::format("'{}' is neither 'complete' nor 'interrupted'", t));
                    l.complete = t == "complete";
                  }});
  list.push_back(text_column("fingerprint", &Row::fingerprint));
  list.push_back(text_column("commit", &Row::commit));
  list.push_back(text_column("lab", &Row::lab));
  list.push_back(text_column("op", &Row::op));
  list.push_back({"variant", [](const Line& l) { return l.row.variant; },
                  [](Line& l, const std::string& t) {
                    if (t.empty()) throw CellError("is empty; it holds the variant's id");
                    l.row.variant = t;
                  }});
  list.push_back(text_column("backend", &Row::backend));
  list.push_back(text_column("instruction_set", &Row::instruction_set));
  list.push_back(text_column("size", &Row::size));
  list.push_back(text_column("shape", &Row::shape));
  list.push_back(text_column("cache", &Row::cache));
  list.push_back({"threads", [](const Line& l) { return std::to_string(l.row.threads); },
                  [](Line& l, const std::string& t) { l.row.threads = at_least_one<int>(t); }});
  list.push_back({"session", [](const Line& l) { return std::to_string(l.row.session); },
                  [](Line& l, const std::string& t) { l.row.session = at_least_one<int>(t); }});
  list.push_back({"rounds", [](const Line& l) { return std::to_string(l.row.seconds.size()); },
                  [](Line& l, const std::string& t) {
                    l.rounds = number_of<int64_t>(t);
                    if (l.rounds < 0) throw CellError(fmt::format("'{}' is negative", t));
                  }});
  list.push_back({"iterations", [](const Line& l) { return std::to_string(l.row.iterations); },
                  [](Line& l, const std::string& t) {
                    l.row.iterations = number_of<int64_t>(t);
                    if (l.row.iterations < 0) throw CellError(fmt::format("'{}' is negative", t));
                  }});
  list.push_back(text_column("skipped", &Row::skipped));
  list.push_back(text_column("wrong", &Row::wrong));
  list.push_back(timed_column(
      "confidence", [](const Row& r) { return r.time.confidence; },
      [](Row& r, double v) { r.time.confidence = v; }, not_negative));
  list.push_back(timed_column(
      "seconds_median", [](const Row& r) { return r.time.value; }, [](Row& r, double v) { r.time.value = v; },
      positive));
  list.push_back(timed_column(
      "seconds_low", [](const Row& r) { return r.time.low; }, [](Row& r, double v) { r.time.low = v; },
      positive));
  list.push_back(timed_column(
      "seconds_high", [](const Row& r) { return r.time.high; }, [](Row& r, double v) { r.time.high = v; },
      positive));
  list.push_back({"bytes", [](const Line& l) { return digits(l.row.bytes); },
                  [](Line& l, const std::string& t) { l.row.bytes = not_negative(t); }});
  list.push_back({"flops", [](const Line& l) { return digits(l.row.flops); },
                  [](Line& l, const std::string& t) { l.row.flops = not_negative(t); }});
  // Two columns for human readers. They follow from others, so reading only checks that they are numbers.
  list.push_back(timed_column(
      "gb_per_s", [](const Row& r) { return r.bytes / r.time.value * 1e-9; }, [](Row&, double) {},
      not_negative));
  list.push_back(timed_column(
      "gflop_per_s", [](const Row& r) { return r.flops / r.time.value * 1e-9; }, [](Row&, double) {},
      not_negative));
  add_estimate(list, "over_naive", "over_naive_low", "over_naive_high", &Line::over_naive);
  add_estimate(list, "over_parent", "over_parent_low", "over_parent_high", &Line::over_parent);
  list.push_back(text_column("peer", &Row::peer));
  add_estimate(list, "over_peer", "over_peer_low", "over_peer_high", &Line::over_peer);
  list.push_back(text_column("ceiling", &Row::ceiling));
  list.push_back(timed_column(
      "ceiling_per_second", [](const Row& r) { return r.ceiling_per_second; },
      [](Row& r, double v) { r.ceiling_per_second = v; }, not_negative));
  add_estimate(list, "of_ceiling", "of_ceiling_low", "of_ceiling_high", &Line::of_ceiling);
  list.push_back(text_column("error", &Row::error));
  list.push_back({"expected",
                  [](const Line& l) { return l.row.expected ? digits(*l.row.expected) : std::string(); },
                  [](Line& l, const std::string& t) {
                    if (!t.empty()) l.row.expected = positive(t);
                  }});
  list.push_back(text_column("verdict", &Row::verdict));
  list.push_back(
      {"worst_error",
       [](const Line& l) { return l.row.worst_error ? digits(*l.row.worst_error) : std::string(); },
       [](Line& l, const std::string& t) {
         if (!t.empty()) l.row.worst_error = not_negative(t);
       }});
  list.push_back({"counts", [](const Line& l) { return join_counts(l.row.counts); },
                  [](Line& l, const std::string& t) { l.row.counts = split_counts(t); }});
  list.push_back({"needs", [](const Line& l) { return join_counts(l.row.needs); },
                  [](Line& l, const std::string& t) { l.row.needs = split_counts(t); }});
  list.push_back({"shares", [](const Line& l) { return join_numbers(l.row.shares); },
                  [](Line& l, const std::string& t) { l.row.shares = split_numbers(t, positive); }});
  list.push_back({"others",
                  [](const Line& l) { return l.row.others ? digits(*l.row.others) : std::string(); },
                  [](Line& l, const std::string& t) {
                    if (!t.empty()) l.row.others = not_negative(t);
                  }});
  list.push_back({"waited", [](const Line& l) { return join_numbers(l.row.waited); },
                  [](Line& l, const std::string& t) { l.row.waited = split_numbers(t, not_negative); }});
  list.push_back(
      {"core_to_core_ns", [](const Line& l) { return join_numbers(l.row.core_to_core_ns); },
       [](Line& l, const std::string& t) { l.row.core_to_core_ns = split_numbers(t, not_negative); }});
  list.push_back({"resources", [](const Line& l) { return join_resources(l.row.resources); },
                  [](Line& l, const std::string& t) { l.row.resources = split_resources(t); }, true});
  list.push_back({"seconds", [](const Line& l) { return join_numbers(l.row.seconds); },
                  [](Line& l, const std::string& t) { l.row.seconds = split_numbers(t, positive); }});
  for (Column& c : list) {
    c.optional = !kNeeded.contains(c.name);
    if (c.name == std::string_view("core_to_core_ns")) c.was = "line_ns";
  }
  return list;
}

}  // namespace

const std::vector<Column>& columns() {
  static const std::vector<Column> list = make_columns();
  return list;
}

}  // namespace klab::rows_csv
