#include "harness/step/judge.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/check/compare.h"
#include "harness/check/failure_json.h"
#include "harness/check/supported_shapes.h"
#include "harness/check/survey.h"
#include "harness/check/trial.h"
#include "harness/records/digest.h"
#include "harness/records/rows.h"
#include "harness/simt/modules.h"
#include "harness/step/counts.h"
#include "harness/step/mutate.h"
#include "harness/step/process.h"
#include "harness/step/sandbox.h"
#include "harness/step/timing_size.h"
#include "harness/timing/bench.h"
#include "harness/timing/others_work.h"
#include "harness/timing/statistics.h"
#include "harness/timing/unit_ceilings.h"
#include "reference/generator.h"

namespace klab {
namespace {

using Json = nlohmann::json;

constexpr double kLongestTiming = 20;  // seconds, after which no further round is started
constexpr double kPatience = 3;        // seconds of timing, after which no further size is started

void say(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(result_channel, text.data() + at, text.size() - at);
    if (n <= 0) std::_Exit(3);  // the reader is gone
    at += size_t(n);
  }
}

/// Loads the modules; the variant in them registers itself.
void load(const Step& step, const std::vector<std::string>& modules) {
  for (size_t k = 0; k < modules.size(); ++k) {
    if (step.cuda() || k == 1)
      simt::load_module(modules[k], step.cuda() && k == 1);
    else if (dlopen(modules[k].c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
      throw std::runtime_error(dlerror());
  }
}

/// Returns a key for comparing accuracy. Units differ by a factor of 2 or more, so growth decides only
/// between equal ones.
double looseness(const Numerics& n) { return unit_roundoff(n.unit) * (n.growth == Growth::linear ? 1.5 : 1); }

/// Returns the registered variant, with the properties that the learner may not choose replaced: the required
/// accuracy, and where it must run.
Variant variant_of(const Step& step) {
  const Variant* found = find_variant(work_id(step));
  if (found == nullptr)
    throw std::runtime_error(
        "the file registers no variant: it must end with KLAB_VARIANT(...), as its parent does");
  Variant v = *found;
  if (step.own->id != v.id && v.op != step.op->op.name)
    throw std::runtime_error("the file registers a variant of " + v.op + ", the step is one of " +
                             step.op->op.name);
  const Numerics& loosest = looseness(step.own->numerics) > looseness(step.parent->numerics)
                                ? step.own->numerics
                                : step.parent->numerics;
  if (looseness(v.numerics) > looseness(loosest)) {
    v.numerics.unit = loosest.unit;
    v.numerics.growth = loosest.growth;
  }
  v.numerics.deterministic =
      v.numerics.deterministic || (step.own->numerics.deterministic && step.parent->numerics.deterministic);
  v.supported = step.own->supported;
  v.parent = step.parent->id;
  v.forward = step.own->forward;
  v.tiles.insert(v.tiles.end(), step.own->tiles.begin(), step.own->tiles.end());
  v.peer = false;
  return v;
}

Json as_json(const CheckResult& r) {
  Json failures = Json::array();
  for (const Failure& f : r.failures) failures.push_back(to_json(f));
  return {{"passed", r.passed()}, {"cases", r.cases}, {"skipped", r.skipped}, {"worst", r.worst},
          {"seconds", r.seconds}, {"note", r.note},   {"failures", failures}};
}

/// Returns a cheap non-empty shape that the step's rung supports; the cheapest one if all are expensive.
std::vector<int64_t> small_shape(const Step& step, uint64_t seed) {
  const Variant* const own[] = {step.own};
  std::vector<int64_t> cheapest;
  double least = 0;
  for (const auto& shape : supported_among(*step.own, shapes_of_check(*step.op, own, {}, seed))) {
    const double w = work(step.op->op, shape);
    if (!(w > 0) || is_empty(*step.op, shape)) continue;
    if (cheapest.empty() || w < least) {
      cheapest = shape;
      least = w;
    }
    if (w < 2e4) return shape;
  }
  return cheapest;
}

/// Times the parent, your variant and klab's own, interleaved.
Json times_of(const Step& step, const Variant& yours, const JudgeJob& job) {
  const BenchShape size = timing_size(step);
  const std::vector<const Variant*> all = {step.parent, &yours, step.own};
  const auto begin = std::chrono::steady_clock::now();
  const auto gone = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  BenchOptions options;
  options.rounds = 11;
  options.sample_seconds = 0.01;
  options.ladder_seconds = 3;
  options.call_cap_seconds = 1.5;
  options.check_work = 1e7;  // every shape of the suite was checked already, and the learner is waiting
  options.cold_caches = 2;
  options.threads = job.threads;
  options.seed = job.seed;
  options.stop = [&] { return gone() > kLongestTiming; };
  options.progress = [](const std::string&, int round, int) { say({{"round", round}}); };
  const OthersWork others;
  const Ladder ladder = bench(*step.op, size, all, options);
  const double busy = others.threads();
  const Series& mine = ladder.series[1];
  Json elsewhere = Json::array();
  options.rounds = options.fewest_rounds = 5;
  options.sample_seconds = 0.005;
  options.ladder_seconds = 0.6;
  options.call_cap_seconds = 0.2;
  for (const BenchShape& other : mine.seconds.empty() ? std::vector<BenchShape>{} : other_sizes(step, size)) {
    if (gone() > kPatience) break;  // for ops whose operands alone take seconds to create
    const Ladder there = bench(*step.op, other, all, options);
    elsewhere.push_back({{"size", other.name + ", " + shape_text(step.op->op, other.shape)},
                         {"parent", there.series[0].seconds},
                         {"yours", there.series[1].seconds},
                         {"own", there.series[2].seconds}});
  }
  Bound bound = bound_of(ladder, step.own);
  const auto shares = [&] {
    Json list = Json::array();
    for (size_t i = 0; i < std::min(mine.seconds.size(), bound.seconds.size()); ++i)
      list.push_back(bound.seconds[i] / mine.seconds[i]);
    return list;
  };
  Json share = shares();
  // A learner's file may use a faster unit than klab's rung.
  if (!share.empty() && median(share.get<std::vector<double>>()) > kCeilingMargin) {
    bound = bound_of(ladder, step.own, MayUse::any);
    share = shares();
  }
  std::string wrong = mine.wrong;
  if (const double most = share.empty() ? 0 : median(share.get<std::vector<double>>()); most > kRefused)
    wrong = fmt::format("after timing: it takes less time than its work does: {:.3g} times what {} allows",
                        most, bound.ceiling);
  return {{"size", size.name + ", " + shape_text(step.op->op, size.shape)},
          {"parent", ladder.series[0].seconds},
          {"yours", mine.seconds},
          {"own", ladder.series[2].seconds},
          {"of_ceiling", share},
          {"ceiling", bound.ceiling},
          {"expected", expected_at(step, size)},
          {"elsewhere", elsewhere},
          {"others", busy},
          {"skipped", mine.skipped},
          {"wrong", wrong},
          {"parent_skipped", ladder.series[0].skipped}};
}

Step variant_step(const std::string& id) {
  const Variant* v = find_variant(id);
  if (v == nullptr) throw std::runtime_error("no variant is called " + id);
  return step_of(*v);
}

/// Runs the variant twice at one shape. Returns a digest of its outputs; empty if the runs differ, so that nothing follows
/// from a difference to another digest.
std::string digest_of_outputs(const Step& step, const Variant& yours, const JudgeJob& job) {
  const auto specs = step.op->op.tensors(job.digest_of);
  Generator random(job.seed);
  const Given given = make_given(*step.op, job.digest_of, specs, Pattern::random, random);
  CrashGuard guard;
  std::string digests[2];
  for (std::string& digest : digests) {
    Trial trial(step.op->op, yours, job.digest_of, specs, std::vector<int64_t>(specs.size(), 0), guard);
    trial.failure(given);
    for (const auto& bytes : trial.outputs()) digest += sha256(std::string(bytes.begin(), bytes.end()));
  }
  return digests[0] == digests[1] ? digests[0] : "";
}

int judge_step(const JudgeJob& job) {
  const Step step = job.variant ? variant_step(job.step) : find_step(job.step);
  if (job.threads > 0) omp_set_num_threads(job.threads);
  if (step.cuda()) simt::load_traced_variants();
  if (!job.confined_to.empty()) forbid_processes();
  say({{"at", "loading"}});
  std::optional<Variant> yours;
  try {
    load(step, job.modules);
    yours = variant_of(step);
  } catch (const std::exception& error) {
    say({{"wrong", error.what()}});
    return 1;
  }
  if (!job.digest_of.empty()) {
    say({{"digest", digest_of_outputs(step, *yours, job)}});
    return 0;
  }
  const Variant* const list[] = {&*yours};
  // Try a small size first: code that loops endlessly usually does so at any size, and is stopped sooner
  // here.
  say({{"at", "trying"}});
  const auto small = small_shape(step, job.seed);
  std::vector<int64_t> at = small;
  if (!small.empty()) say({{"shape", shape_text(step.op->op, small)}});
  auto result = check(*step.op, list,
                      {.seed = job.seed,
                       .max_failures = 1,
                       .shape = small,
                       .quick = true,
                       .gradients = false,
                       .done = {}})
                    .variants.front();
  if (result.failures.empty()) {
    say({{"at", "checking"}});
    result = check(*step.op, list,
                   {.seed = job.seed,
                    .max_failures = 1,
                    .seconds = job.check_seconds,
                    .done = {},
                    .at =
                        [&](ShapeView shape) {
                          at.assign(shape.begin(), shape.end());
                          say({{"shape", shape_text(step.op->op, shape)}});
                        }})
                 .variants.front();
  }
  say({{"check", as_json(result)}});
  if (!result.failures.empty() && job.survey) {
    say({{"at", "comparing failing and passing cases"}, {"shape", ""}});
    say({{"survey", to_json(survey(*step.op, *yours,
                                   {.seed = job.seed,
                                    .shape = at,
                                    .inputs = result.failures.front().inputs,
                                    .watched = result.failures.front().fault == Fault::finding}))}});
  }
  if (result.passed() && job.time) {
    if (step.cuda()) {
      say({{"at", "counting"}, {"shape", ""}});
      say({{"counts", counts_of_step(step, *yours, job.seed)}});
    } else {
      say({{"at", "timing"}, {"shape", ""}});
      say({{"times", times_of(step, *yours, job)}});
    }
  }
  say({{"done", true}});
  return 0;
}

}  // namespace

std::string to_text(const JudgeJob& job) {
  return Json{{"step", job.step},
              {"modules", job.modules},
              {"seed", job.seed},
              {"threads", job.threads},
              {"time", job.time},
              {"check_seconds", job.check_seconds},
              {"confined", job.confined_to},
              {"variant", job.variant},
              {"survey", job.survey},
              {"digest_of", job.digest_of}}
      .dump();
}

JudgeJob job_from_text(const std::string& text) {
  const auto j = Json::parse(text);
  return {.step = j.at("step"),
          .modules = j.at("modules"),
          .seed = j.at("seed"),
          .threads = j.at("threads"),
          .time = j.at("time"),
          .check_seconds = j.at("check_seconds"),
          .confined_to = j.at("confined"),
          .variant = j.at("variant"),
          .survey = j.at("survey"),
          .digest_of = j.at("digest_of")};
}

int judge(const JudgeJob& job) {
  try {
    return judge_step(job);
  } catch (const std::exception& error) {
    say({{"wrong", error.what()}});
    return 2;
  }
}

}  // namespace klab
