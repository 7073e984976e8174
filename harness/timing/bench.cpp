#include "harness/timing/bench.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "harness/check/thread_watch.h"
#include "harness/core/optional_dims.h"
#include "harness/core/timing_question.h"
#include "harness/timing/bench_inputs.h"
#include "harness/timing/bench_loop.h"
#include "harness/timing/ceilings.h"
#include "harness/timing/clock_guard.h"
#include "harness/timing/contents.h"
#include "harness/timing/core_to_core.h"
#include "harness/timing/full_check.h"
#include "harness/timing/gpu_timing.h"
#include "harness/timing/ladder_ceiling.h"
#include "harness/timing/left_state.h"
#include "harness/timing/other_patterns.h"
#include "harness/timing/others_work.h"
#include "harness/timing/statistics.h"
#include "harness/timing/thread_scope.h"
#include "harness/timing/unseen_inputs.h"

namespace klab {
namespace {

using Clock = std::chrono::steady_clock;

/// Calls that take less are never accused by their time alone, and their inputs are not touched between them.
constexpr double kTellable = 1e-5;  // seconds

/// Work in arbitrary units: what time is assumed to be proportional to.
double work_of(const Cost& cost) { return cost.flops + cost.bytes; }

std::vector<int64_t> shrunk(const LabOp& op, const std::vector<int64_t>& shape, double work) {
  return shrunk(op.op, shape, work, [&](ShapeView s) { return work_of(op.op.cost(s)); });
}

struct Runner {
  const Variant* variant;
  Series* series;
  std::vector<std::function<void()>> calls;  // one a copy of the operands
  size_t last = 0;                           // copy that was used last
  double once = 0;                           // seconds
  uint64_t hash[2] = {0, 0};                 // of the outputs of one call, for either content
  bool warms = false;                        // one call before a sample brings its operands to the caches
  int64_t left = 0;                          // calls of the sample that are still to come
  std::optional<ThreadWatch> threads;        // since the sample began
  Sample sample;
};

class LadderTimer {
 public:
  LadderTimer(const LabOp& op, const BenchShape& shape, const BenchOptions& options)
      : op_(op),
        shape_(shape),
        options_(options),
        inputs_(op, shape.shape, shape.cache, options.seed, options.cold_caches, options.cold_bytes),
        contents_(op, shape.shape, inputs_, options.seed) {}

  Ladder run(std::span<const Variant* const> variants) {
    ladder_ = {op_.op.name, shape_, op_.op.cost(shape_.shape), {}};
    ladder_.threads = omp_get_max_threads();
    ladder_.cache = inputs_.text();
    ladder_.gave_up = inputs_.gave_up();
    ladder_.series.reserve(variants.size());
    for (const Variant* v : variants)
      if (!stopped()) enter(*v);
    if (options_.full_check && !stopped()) check_in_full();
    if (options_.check && !stopped())
      check_all(shrunk(op_, shape_.shape, options_.check_work), options_.seed, "");
    for (auto& r : runners_)
      if (!stopped()) calibrate(*r);
    drop_finished();
    if (stopped()) return std::move(ladder_);
    if (options_.check) learn_contents();
    if (!runners_.empty()) prepare_ceiling();
    if (!runners_.empty()) rounds();
    if (!on_gpu_.empty() && ladder_.complete) check_and_time_on_gpu(op_, shape_, on_gpu_, options_, ladder_);
    if (options_.check) check_after();
    return std::move(ladder_);
  }

 private:
  double now() const {
    if (options_.now) return options_.now();
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  }

  double seconds_of(const std::function<void()>& call) const {
    const double begin = now();
    call();
    return now() - begin;
  }

  bool stopped() {
    if (options_.stop && options_.stop()) ladder_.complete = false;
    return !ladder_.complete;
  }

  void drop_finished() {
    std::erase_if(runners_,
                  [](const auto& r) { return !r->series->skipped.empty() || !r->series->wrong.empty(); });
  }

  /// What one call would take, told from a small shape, where that is more than the cap; empty otherwise.
  std::string too_slow(const Variant& v) const {
    const double work = work_of(ladder_.cost), cap = options_.call_cap_seconds;
    constexpr double kSlow = 2e8;  // work a second that any rung reaches
    if (work / kSlow <= cap) return "";
    const auto small = shrunk(op_, shape_.shape, work / 64);
    if (small == shape_.shape || !v.supported(small, this_host()).empty()) return "";
    BenchInputs few(op_, small, Cache::hot, options_.seed);
    const auto call = v.bind(small, few.pointers(0));
    call();
    // One call may be held up by other work, most of all one with threads: only slow again and again is slow.
    const double larger = work / work_of(op_.op.cost(small));
    double estimate = seconds_of(call) * larger;
    for (int again = 0; again < 4 && estimate > cap; ++again)
      estimate = std::min(estimate, seconds_of(call) * larger);
    if (estimate <= cap) return "";
    return fmt::format("one call would take about {:.2g} s, estimated from {}; the cap is {:.2g} s", estimate,
                       shape_text(op_.op, small), cap);
  }

  /// Asks whether the variant can run here, and in a reasonable time: what a small shape takes foretells the
  /// rest, which spares a minute of waiting for a rung that is too slow.
  void enter(const Variant& v) {
    ladder_.series.push_back({.variant = v.id});
    Series& series = ladder_.series.back();
    series.skipped = supported_for_timing(v, shape_.shape, this_host());
    if (v.backend == "cuda" && this_host().gpu) return on_gpu_.push_back(&v);
    if (v.backend == "cuda")
      series.skipped =
          "no GPU here; how long the host takes to execute CUDA says nothing (klab trace counts)";
    if (!series.skipped.empty()) return;
    series.skipped = too_slow(v);
    if (!series.skipped.empty()) return;
    auto r = std::make_unique<Runner>();
    r->variant = &v;
    r->series = &series;
    runners_.push_back(std::move(r));
  }

  /// Runs all that `klab check` tries, which decides; what follows concerns this size.
  void check_in_full() {
    std::vector<const Variant*> list;
    for (const auto& r : runners_) list.push_back(r->variant);
    if (options_.progress) options_.progress("a check of " + op_.op.name, 0, 0);
    const auto wrong = full_check(op_, list, options_.seed, options_.stop).wrong;
    for (size_t i = 0; i < runners_.size(); ++i)
      if (!wrong[i].empty()) reject(*runners_[i], wrong[i]);
    drop_finished();
  }

  /// What the first variant that tells the two contents apart makes of them; all others must follow it.
  void learn_contents() {
    for (const auto& r : runners_)
      if (contents_.learn(r->calls[0])) break;
    if (!contents_.known()) return;
    for (auto& r : runners_)
      for (const int content : {1, 0}) {
        contents_.put(content);
        inputs_.reset(0);
        r->calls[0]();
        r->hash[content] = inputs_.hash_of_outputs(0);
        if (!contents_.answered(0)) reject_for_keeping(*r, "");
      }
    drop_finished();
  }

  static void reject_for_keeping(Runner& r, const std::string& when) {
    reject(
        r,
        when +
            "one element of its inputs has changed since it was called before, and its outputs have not: it "
            "keeps results from call to call");
  }

  /// The reference is computed once for all variants.
  void check_all(std::vector<int64_t> shape, uint64_t seed, const std::string& when) {
    std::vector<const Variant*> list;
    for (const auto& r : runners_) list.push_back(r->variant);
    if (list.empty()) return;
    // A smaller shape serves only when all take it.
    for (const Variant* v : list)
      if (!v->supported(shape, host_of(*v)).empty()) shape = shape_.shape;
    const double begin = now();
    // Differences of the forward are for `klab check`: here outputs are compared with the reference's.
    const auto results = check(op_, list,
                               {.seed = seed,
                                .max_failures = 1,
                                .shape = shape,
                                .quick = true,
                                .gradients = false,
                                .done = {},
                                .stop = options_.stop})
                             .variants;
    check_seconds_ = now() - begin;
    if (stopped()) return;
    for (size_t i = 0; i < runners_.size(); ++i) {
      if (results[i].cases > 0 && !runners_[i]->series->worst_error)
        runners_[i]->series->worst_error = results[i].worst;
      if (!results[i].failures.empty())
        reject(*runners_[i], when + failure_text(results[i].failures.front()));
    }
    drop_finished();
  }

  static void reject(Runner& r, const std::string& why) {
    r.series->wrong = why;
    r.series->seconds.clear();
    r.series->waited.clear();
  }

  void calibrate(Runner& r) {
    const int64_t most = inputs_.calls_a_sample();
    const ThreadWatch watch(ladder_.threads, true);
    for (int64_t c = 0; c < inputs_.copies(); ++c)
      r.calls.push_back(r.variant->bind(shape_.shape, inputs_.pointers(c)));
    try {
      inputs_.reset(0);
      r.once = seconds_of(r.calls[0]);
      r.hash[0] = inputs_.hash_of_outputs(0);
      for (int again = 0; again < 2 && r.once > options_.call_cap_seconds && r.once < 1; ++again) {
        inputs_.reset(0);
        r.once = std::min(r.once, seconds_of(r.calls[0]));
      }
      if (r.once > options_.call_cap_seconds) {
        r.series->skipped =
            fmt::format("one call takes {:.2g} s; the cap is {:.2g} s", r.once, options_.call_cap_seconds);
        return;
      }
      // The first call pays for page faults and waking threads, and any may be held up: the fastest batch counts.
      double spent = 0;
      const auto times = [&](int64_t batch) {
        if (inputs_.flushed()) inputs_.flush();
        const double t = seconds_of([&] { next_call(r, batch); });
        spent += t;
        r.once = std::min(r.once, t / double(batch));
      };
      for (int again = 0; again < 5 && r.once < 0.25 && spent < 0.05; ++again)
        times(std::min<int64_t>(2, most));  // a call that is left out takes no time of its own
      for (int64_t n = 4; n <= most && double(n) * r.once < options_.sample_seconds; n *= 4) times(n);
    } catch (const std::exception& error) {
      reject(r, fmt::format("threw: {}", error.what()));
      return;
    }
    schedule(r);
    // The variant before has left its own data in the caches.
    r.warms = shape_.cache == Cache::hot && r.once < options_.sample_seconds;
    r.sample.before = [this, &r] {
      contents_.put(contents_.now());
      r.threads.emplace(ladder_.threads, true);
      if (inputs_.flushed())
        inputs_.flush();
      else if (r.once <
               options_.sample_seconds)  // by chance one more: no count of calls foretells the last one
        next_call(r, (r.warms ? 1 : 0) + int64_t(warming_() % 2));
      r.left = r.series->iterations;
    };
    if (leaves_a_thread(watch)) reject_for_thread(r);
  }

  /// Chooses the calls of a sample by the time of one, and whether their inputs are touched.
  void schedule(Runner& r) {
    r.series->iterations = std::clamp<int64_t>(int64_t(options_.sample_seconds / std::max(r.once, 1e-9)), 1,
                                               inputs_.calls_a_sample());
    r.sample.iterations = r.series->iterations;
    if (options_.check && r.once >= kTellable)
      r.sample.call = [this, &r] { timed_call(r); };
    else
      r.sample.call = [this, &r] { next_call(r); };
  }

  /// Corrects a time of one call that calibration took for far too short: samples would last as much longer, and a variant
  /// that is quick now and then would pass for one of few microseconds.
  void reschedule(Runner& r) {
    constexpr double kFar = 8;
    if (r.sample.seconds < kFar * r.once) return;
    r.once = r.sample.seconds;
    schedule(r);
  }

  /// A timed call finds inputs that differ from those of the call before, in one element, so that an answer that was kept
  /// is none. The last call of a sample finds the present content, whose answer is known.
  void timed_call(Runner& r) {
    const auto copy = int64_t(turn_ % r.calls.size());
    --r.left > 0 ? contents_.touch(copy) : contents_.restore(copy);
    next_call(r);
  }

  static bool leaves_a_thread(const ThreadWatch& watch) { return !watch.still_running().empty(); }

  /// What its thread does while rivals are timed slows them: the times of this round count for none of them.
  void reject_for_thread(Runner& r) {
    reject(r, "a thread that it started still runs after its call: it works while others are timed");
    intruder_ = r.variant->id;
  }

  /// All take turns with the copies: one that the variant before has just used would not be cold.
  void next_call(Runner& r, int64_t times = 1) {
    for (; times > 0; --times) r.calls[r.last = turn_++ % r.calls.size()]();
  }

  /// Measured in the rounds, as one more that takes its turn.
  void prepare_ceiling() {
    sampler_ = binding_ceiling(op_, shape_, inputs_, turn_, ladder_);
    if (!sampler_) return;
    ceiling_.call = [this] {
      ladder_.ceiling_per_second.push_back(sampler_->sample(options_.sample_seconds));
    };
  }

  int affordable_rounds() const {
    double round = options_.sample_seconds;
    for (const auto& r : runners_) round += r->once * double(r->sample.iterations + (r->warms ? 1 : 0));
    const int least = std::min(options_.fewest_rounds, options_.rounds);
    return std::clamp(int(options_.ladder_seconds / round), least, std::max(least, options_.rounds));
  }

  /// Run after a sample of a variant, when its outputs still lie there: they must answer the content that this round
  /// has, and after the last one be what the first call wrote, bit for bit. Accumulated outputs have grown and are left
  /// to check_after().
  void compare_timed(Runner& r, bool all) {
    if (r.threads && leaves_a_thread(*r.threads)) return reject_for_thread(r);
    if (!options_.check || inputs_.accumulates()) return;
    if (!contents_.answered(int64_t(r.last))) return reject_for_keeping(r, "after timing: at a timed call, ");
    if (!all || !r.variant->numerics.deterministic) return;
    if (inputs_.hash_of_outputs(int64_t(r.last)) != r.hash[contents_.now()])
      reject(r, "after timing: the timed calls wrote other outputs than the first call");
  }

  void rounds() {
    std::mt19937_64 random(options_.seed);
    const int count = affordable_rounds();
    const OthersWork others;
    for (int round = 0; round < count; ++round) {
      if (options_.progress) options_.progress(op_.op.name + ", " + shape_.name, round, count);
      if (options_.check) contents_.put(int(random() % 2));
      std::shuffle(runners_.begin(), runners_.end(), random);
      std::vector<Sample*> order;
      for (auto& r : runners_) {
        r->sample.after = [this, &one = *r, last = round + 1 == count] { compare_timed(one, last); };
        order.push_back(&r->sample);
      }
      if (sampler_) order.insert(order.begin() + std::ptrdiff_t(random() % (order.size() + 1)), &ceiling_);
      if (!time_round(order, options_.stop, options_.now)) {
        ladder_.complete = false;
        ladder_.ceiling_per_second.resize(std::min(ladder_.ceiling_per_second.size(), size_t(round)));
        return;
      }
      ladder_.core_to_core_ns.push_back(measure_core_to_core_ns());
      for (auto& r : runners_) {
        if (!r->sample.threw.empty()) reject(*r, "threw while it was timed: " + r->sample.threw);
        if (!r->series->wrong.empty() || !intruder_.empty()) continue;
        r->series->seconds.push_back(r->sample.seconds);
        if (r->sample.waited >= 0) r->series->waited.push_back(r->sample.waited);
        reschedule(*r);
      }
      drop_finished();
      if (!intruder_.empty()) {
        forget_round();
        break;
      }
    }
    ladder_.others = others.threads();
  }

  /// Drops what was measured next to a thread that a variant left running; no further round can be trusted.
  void forget_round() {
    const size_t rounds = ladder_.core_to_core_ns.size() - 1;
    ladder_.core_to_core_ns.resize(rounds);
    ladder_.ceiling_per_second.resize(std::min(ladder_.ceiling_per_second.size(), rounds));
    if (rounds > 0) return;
    for (auto& r : runners_)
      r->series->skipped = fmt::format("not timed: {} left a thread running", intruder_);
    drop_finished();
  }

  /// Where few tries are asked for, none are spent on what takes longer than all of them: who keeps results is quick.
  bool slow_for_tries(const Runner& r) const { return options_.tries < 1 && r.once > patience(); }

  /// Seconds that a variant may take for one kind of tries.
  double patience() const { return 0.25 * options_.tries; }

  /// Single calls, each into poisoned outputs, on the two contents in an order and a number of chance.
  void try_contents(Runner& r) {
    const double seconds = 0.15 * options_.tries;
    std::mt19937_64 random(options_.seed + 7);
    const int calls = std::clamp(int(seconds / std::max(r.once, 1e-9)), 3, 12) + int(random() % 3);
    for (int k = 0; k < calls; ++k) {
      contents_.put(int(random() % 2));
      inputs_.reset(0);
      r.calls[0]();
      const bool same =
          !r.variant->numerics.deterministic || inputs_.hash_of_outputs(0) == r.hash[contents_.now()];
      if (!contents_.answered(0) || !same) return reject_for_keeping(r, "after timing: ");
    }
    contents_.put(0);
  }

  /// Returns how many times longer calls take on a whole input that was never there before than on the old one, written by
  /// the same copy: the quickest of some over the median of as many. 0 where that cannot be told by time.
  double slower_when_unseen(Runner& r, UnseenInputs& unseen, int64_t which) {
    const int calls = std::clamp(int(patience() / std::max(r.once, 1e-9) / 4), 2, 8);
    const auto call_on = [&](uint64_t turn) {
      unseen.write(which, turn);
      inputs_.reset(0);
      return seconds_of(r.calls[0]);
    };
    std::vector<double> seen;
    double quickest = 1e300;
    for (int k = 0; k < calls; ++k) {
      call_on(0);  // the old values are those of the call before, too
      seen.push_back(call_on(0));
      quickest = std::min(quickest, call_on(++unseen_turn_));
    }
    unseen.write(which, 0);
    const double usual = median(seen);  // some may be held up by other work
    if (std::min(usual, quickest) < kTellable) return 0;
    return quickest / usual / (calls >= 5 ? 1 : 2);
  }

  /// Returns the slowest of the others, which has least to hide; null where there is none.
  Runner* honest_for(const Runner& r) {
    Runner* slowest = nullptr;
    for (auto& other : runners_)
      if (other.get() != &r && other->series->wrong.empty() &&
          (slowest == nullptr || other->once > slowest->once))
        slowest = other.get();
    return slowest;
  }

  /// A variant that recognizes its inputs, all of them, and one that repeats only what changed, give right answers; they take
  /// longer on inputs that they do not know. Measured twice, and against another variant on the same inputs: predictors
  /// of branches and caches know inputs, too.
  void try_unseen(Runner& r, UnseenInputs& unseen) {
    constexpr double kSlower = 1.5;
    if (slow_for_tries(r)) return;
    const int64_t only = options_.tries < 1 && unseen.count() > 0 ? int64_t(warming_()) % unseen.count() : -1;
    for (int64_t which = 0; which < unseen.count(); ++which) {
      if (only >= 0 && which != only) continue;
      const double first = slower_when_unseen(r, unseen, which);
      if (first <= kSlower) continue;
      const double second = slower_when_unseen(r, unseen, which);
      Runner* const other = honest_for(r);
      const double usual = other != nullptr ? std::max(1.0, slower_when_unseen(*other, unseen, which)) : 1;
      if (second <= kSlower || std::min(first, second) <= kSlower * usual) continue;
      return reject(
          r,
          fmt::format("after timing: {:.3g} times slower, each time, on inputs that it has not seen before "
                      "than on those that it has: it keeps results from call to call",
                      std::min(first, second)));
    }
  }

  /// Tensors that are updated in place are what a variant left: it must not take that for a sign that its work is done.
  void try_left_state(Runner& r, LeftState& state, std::mt19937_64& random) {
    if (slow_for_tries(r)) return;
    constexpr double kCalls = 9;  // a try
    const int tries = std::clamp(int(patience() / std::max(r.once, 1e-9) / kCalls), 2, 6);
    Runner* const other = honest_for(r);
    if (state.idles(r.calls[0], other != nullptr ? other->calls[0] : std::function<void()>(), tries, random))
      reject(r,
             "after timing: where it finds a state that it left itself, it does nothing: it keeps results "
             "from call to call");
  }

  /// What is right for random numbers only is no kernel, at whatever size.
  void try_patterns() {
    std::vector<const Variant*> list;
    for (const auto& r : runners_) list.push_back(r->variant);
    constexpr double kCheap = 0.1;  // seconds of the check before timing
    const auto wrong = try_other_patterns(op_, shape_.shape, list,
                                          {.seed = options_.seed,
                                           .seconds = 3 * options_.tries,
                                           .reference = list.size() == 1 && check_seconds_ < kCheap,
                                           .stop = options_.stop});
    for (size_t i = 0; i < wrong.size(); ++i)
      if (!wrong[i].empty()) reject(*runners_[i], "after timing, at the timed size: " + wrong[i]);
    drop_finished();
  }

  /// A variant may have learned to cheat: what it writes now, into poisoned outputs, must be what it wrote at first,
  /// and it must still pass the check on inputs it has not seen.
  void check_after() {
    contents_.put(contents_.now());
    for (auto& r : runners_) {
      const auto copy = int64_t(turn_ % r->calls.size());
      inputs_.reset(copy);
      next_call(*r);
      if (r->variant->numerics.deterministic && inputs_.hash_of_outputs(copy) != r->hash[contents_.now()])
        reject(*r, "after timing: other outputs than at first from the same inputs");
    }
    drop_finished();
    if (contents_.known())
      for (auto& r : runners_) try_contents(*r);
    drop_finished();
    if (!ladder_.complete) return;  // interrupted: the prompt is waited for
    UnseenInputs unseen(op_, shape_.shape, inputs_);
    for (auto& r : runners_) try_unseen(*r, unseen);
    drop_finished();
    if (inputs_.accumulates()) {
      LeftState state(op_, shape_.shape, inputs_);
      std::mt19937_64 random(options_.seed + 11);
      for (auto& r : runners_) try_left_state(*r, state, random);
      drop_finished();
    }
    try_patterns();
    if (stopped()) return;
    constexpr double kPatience = 2;  // seconds; beyond, a smaller shape serves
    const double share = check_seconds_ > kPatience ? kPatience / check_seconds_ : 1;
    check_all(shrunk(op_, shape_.shape, std::min(work_of(ladder_.cost) * share, options_.check_work)),
              options_.seed + 1, "after timing: ");
  }

  const LabOp& op_;
  const BenchShape& shape_;
  const BenchOptions& options_;
  BenchInputs inputs_;
  Contents contents_;
  size_t turn_ = 0;  // calls so far: which copy is next
  Ladder ladder_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<const Variant*> on_gpu_;
  std::unique_ptr<CeilingSampler> sampler_;
  Sample ceiling_;
  double check_seconds_ = 0;
  uint64_t unseen_turn_ = 0;
  std::minstd_rand warming_{unsigned(options_.seed) + 1};
  std::string intruder_;  // the variant that left a thread running
};

}  // namespace

Ladder bench(const LabOp& op, const BenchShape& shape, std::span<const Variant* const> variants,
             const BenchOptions& options) {
  if (!fits_dims(op.op, shape.shape.size()) || !op.op.valid(shape.shape))
    throw std::invalid_argument(
        fmt::format("bench: not a legal shape of {}, which takes {} numbers", op.op.name, op.op.dims.size()));
  if (options.rounds < 1 || !(options.sample_seconds > 0))
    throw std::invalid_argument("bench: at least one round and a sample longer than nothing");
  const ThreadScope scope(options.threads);
  const ClockGuard clock;
  clock.verify();
  if (this_host().gpu && std::ranges::all_of(variants, [](const Variant* v) { return v->backend == "cuda"; }))
    return bench_on_gpu(op, shape, variants, options);
  LadderTimer timer(op, shape, options);
  Ladder ladder = timer.run(variants);
  clock.verify();
  return ladder;
}

}  // namespace klab
