#include "harness/cli/mutation_run.h"

#include <fmt/core.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/cli/command.h"
#include "harness/cli/ladder_text.h"
#include "harness/cli/tools.h"
#include "harness/core/select.h"
#include "harness/records/json_schema.h"
#include "harness/report/table.h"
#include "harness/step/mutate.h"

namespace klab {
namespace {

using How = MutantResult::How;
using MutantJson = nlohmann::ordered_json;

constexpr How kEveryHow[] = {How::killed, How::survived, How::does_not_compile, How::equivalent,
                             How::not_judged};

MutantJson mutant_json(const MutantResult& r) {
  return {{"variant", r.variant},
          {"file", r.file},
          {"line", r.mutation.line},
          {"mutation", r.mutation.what},
          {"source", r.mutation.was},
          {"outcome", name_of(r.how)},
          {"by", r.by}};
}

std::string left_text(double seconds) {
  return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

std::string totals_text(const std::map<How, int>& counts) {
  std::string text;
  for (const How how : kEveryHow)
    if (const auto found = counts.find(how); found != counts.end())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", found->second, name_of(how));
  return text.empty() ? "no mutants" : text;
}

void print_survivor(const MutantResult& r) {
  const bool open = r.how == How::not_judged;
  fmt::print("  {}:{}  {}\n      {}\n", r.file, r.mutation.line,
             inked(open ? r.mutation.what + " (not judged: " + r.by + ")" : r.mutation.what, Ink::yellow),
             inked(r.mutation.was, Ink::dim));
}

}  // namespace

int run_mutants(const MutationRun& run) {
  std::vector<const Variant*> variants;
  for (const Selected& s : select(run.what, run.backend))
    for (const Variant* v : s.variants)
      if (!v->peer) variants.push_back(v);
  if (variants.empty()) throw std::invalid_argument("--mutants: only vendor baselines are called that");
  watch_interrupt();
  Progress progress;
  MutantJson all = MutantJson::array();
  std::map<How, int> total;
  for (const Variant* v : variants) {
    if (interrupted()) break;
    const auto begin = std::chrono::steady_clock::now();
    progress.show("compiling and checking " + v->id + " as it is");
    MutateOptions options{.most = size_t(run.most), .seed = settings().seed, .threads = settings().threads};
    options.stop = interrupted;
    int survived = 0;
    options.progress = [&](const MutantResult& r, size_t done, size_t of) {
      survived += r.how == How::survived ? 1 : 0;
      const double gone = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      progress.show(fmt::format("{}: mutant {} of {}, {} survived, {:.1f} a minute, {} left", v->id, done, of,
                                survived, 60 * double(done) / gone,
                                left_text(gone / double(done) * double(of - done))));
    };
    const auto results = mutate(*v, options);
    progress.clear();
    std::map<How, int> counts;
    for (const MutantResult& r : results) {
      ++counts[r.how];
      ++total[r.how];
      all.push_back(mutant_json(r));
    }
    if (run.json) continue;
    fmt::print("{}  {}\n", inked(v->id, Ink::bold), totals_text(counts));
    for (const MutantResult& r : results)
      if (r.how == How::survived || r.how == How::not_judged) print_survivor(r);
    std::fflush(stdout);
  }
  if (run.json) {
    MutantJson counts = MutantJson::object();
    for (const How how : kEveryHow) counts[name_of(how)] = total.contains(how) ? total.at(how) : 0;
    fmt::print(
        "{}\n",
        with_schema("mutants", MutantJson{{"complete", !interrupted()}, {"counts", counts}, {"mutants", all}})
            .dump(2));
  } else {
    fmt::print("mutants: {}\n", totals_text(total));
  }
  return interrupted() ? exit_interrupted : exit_ok;
}

}  // namespace klab
