#include "harness/cli/gpu_counters.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/report/table.h"

namespace klab {
bool ComparedCounter::agrees() const { return std::abs(host - gpu) < 0.05; }

std::vector<ComparedCounter> compare_counters(const CountedRun& run, const std::map<std::string, double>& gpu,
                                              const std::string& file) {
  std::vector<ComparedCounter> list;
  const ComparedCounter* requests = nullptr;
  const auto rate_of = [&](const std::string& words, size_t part) {
    const ComparedCounter& of = list[part];
    const auto by = [](double a, double b) { return b > 0 ? a / b : 0; };
    list.push_back({words, by(of.host, requests->host), by(of.gpu, requests->gpu), true});
  };
  const auto named = named_counters(run);
  list.reserve(2 * named.size());  // `requests` points into it
  for (const NamedCounter& c : named) {
    if (c.ratio) continue;
    const auto at = gpu.find(c.nsight);
    if (at == gpu.end())
      throw std::invalid_argument(
          fmt::format("{} holds no {}: record it with ncu --csv --metrics \"$(klab "
                      "trace {} --metrics)\"",
                      file, c.nsight, run.variant));
    list.push_back({c.words, c.value, at->second, false});
    if (c.words.ends_with(" requests")) requests = &list.back();
    if (requests == nullptr) continue;  // each kind's requests come first
    if (c.words.ends_with(" sectors")) rate_of(c.words + "/request", list.size() - 1);
    if (c.words == "bank conflicts") {
      const std::string which = requests->words.substr(0, requests->words.rfind(' '));
      list.back().words = which + " conflicts";
      rate_of(which + " conflicts/request", list.size() - 1);
    }
  }
  return list;
}

std::string metrics_of(const CountedRun& run) {
  std::string text;
  for (const NamedCounter& c : named_counters(run))
    if (!c.ratio) text += (text.empty() ? "" : ",") + c.nsight;
  return text;
}

std::string compared_text(const std::string& variant, const std::vector<ComparedCounter>& list) {
  Table table({{"counter"}, {"host", Column::Kind::right}, {"GPU", Column::Kind::right}, {""}});
  table.indent(2);
  int differ = 0;
  for (const ComparedCounter& c : list) {
    const auto shown = [&](double v) { return fmt::format(fmt::runtime(c.rate ? "{:.1f}" : "{:.0f}"), v); };
    Cell verdict("");
    if (c.rate) {
      verdict = c.agrees() ? Cell("equal", Ink::green) : Cell("differs", Ink::red);
      differ += c.agrees() ? 0 : 1;
    }
    table.add({c.words, shown(c.host), shown(c.gpu), verdict});
  }
  return fmt::format("{}\n{}{}\n", inked(variant, Ink::bold), table.text(),
                     differ == 0 ? "the GPU counted what the host counts"
                                 : fmt::format("{} of the counts per request differ", differ));
}

nlohmann::ordered_json compared_json(const std::string& variant, const std::vector<ComparedCounter>& list) {
  nlohmann::ordered_json j = {{"variant", variant}, {"counters", nlohmann::ordered_json::array()}};
  for (const ComparedCounter& c : list) {
    j["counters"].push_back({{"counter", c.words}, {"host", c.host}, {"gpu", c.gpu}});
    if (c.rate) j["counters"].back()["equal"] = c.agrees();
  }
  return j;
}

}  // namespace klab
