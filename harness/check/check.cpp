#include "harness/check/check.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>

#include "harness/check/alignment.h"
#include "harness/check/cases.h"
#include "harness/check/check_apart.h"
#include "harness/check/covering.h"
#include "harness/check/detectors.h"
#include "harness/check/drawn_cases.h"
#include "harness/check/gradcheck.h"
#include "harness/check/judge_output.h"
#include "harness/check/launch_only.h"
#include "harness/check/laws.h"
#include "harness/check/pace.h"
#include "harness/check/sensitivity.h"
#include "harness/check/supported_shapes.h"
#include "harness/check/suspect.h"
#include "harness/check/thread_races.h"
#include "harness/check/thread_watch.h"
#include "harness/check/trial.h"
#include "harness/check/turns.h"
#include "harness/check/unwatched_lines.h"
#include "harness/check/work_notes.h"
#include "harness/core/kept_mappings.h"
#include "harness/gpu/gpu.h"
#include "harness/simt/gpus.h"
#include "harness/simt/modules.h"
#include "harness/simt/runtime_api.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr double kCudaBelow = 2e7;  // CUDA variants are run at all at cheaper shapes
// At least this number of shapes of each variant is watched, whatever its op costs, unless it is ahead of its share.
constexpr int kWatchedAtLeast = 16;
// What the host executor may spend on one of them, in units of simt::Session::work(): a second or two, counted, so that every
// machine checks the same. A variant ahead of its share has fewer inputs, and far ahead fewer shapes, until the others catch up.
constexpr double kCudaWork = 4.5e7;
constexpr double kCudaBeyond = 2.4e7;  // the same of all shapes beyond the usual: a tenth of a second
constexpr double kPerElement = 0.5;    // of it, for drawing, copying and comparing one element of a tensor
// Multiprocessors of the device there and at every other shape: grids that fill it are small, and their loops turn many times.
constexpr int kFewMultiprocessors = 1;
constexpr double kUnexpected = 4;             // times what its parts let expect: there a run ends
constexpr uint64_t kBeyondSteps = 3'000'000;  // of a block there: those with large tiles do much work
// Inputs rounded to 16 bits are tried at every fourth of the shapes that cost no more than this.
constexpr size_t kSuspectEvery = 4;
constexpr double kSuspectBelow = 1e6;
constexpr int kFewestShapes = 12;            // of each variant, however short the time
constexpr uint64_t kWatchedSteps = 500'000;  // of one block, without a barrier; a large tile may take more

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

bool is_cuda(const Variant& v) { return v.backend == "cuda"; }

// What is kept of one variant from shape to shape.
struct Progress {
  const Variant* variant;
  CheckResult result;
  std::vector<BiasTally> bias;             // one an output; backward ops only
  double spent = 0;                        // by the host executor
  double spent_beyond = 0;                 // the same at shapes beyond what is usual
  double expected = 0;                     // of one run at the present one of these
  int runs_left = 0;                       // there
  unsigned alignments = 0;                 // those met, a bit each
  int watched = 0;                         // shapes
  size_t round_shapes = 0;                 // at which all sizes are multiples of four
  std::array<int, 16> kinds_watched = {};  // shapes at which a pattern was watched as one of the first
  int shapes = 0;                          // at which it ran
  double block_turns = 0;                  // the most of all runs
  // CPU variants: the shape to try numbers of threads at, among those that several divided, and the most expensive one.
  std::vector<int64_t> divided, largest;
  std::vector<std::vector<int64_t>> watchable;  // by dimension: the largest that several divided
  bool one_wrote = false;  // at the shape that was watched: its work was not divided after all
  DividedShape divided_place;
  double largest_work = -1;
  bool stopped(const CheckOptions& options) const {
    // What a watched run finds may end the process when it is not watched.
    for (const Failure& f : result.failures)
      if (f.fault == Fault::finding) return true;
    return int(result.failures.size()) >= options.max_failures;
  }
};

enum class ShapeKind {
  usual,
  beyond,   // what is usual
  threads,  // several numbers of threads, with random inputs
};

// The last is smaller and larger than those before it: what was made for another number is too much and too little.
constexpr int kThreadsWatched = 3;
constexpr double kThreadsWatchedBelow = 3e7;
constexpr int kNumbersOfThreads[] = {5, 1, 3, 2}, kManyThreads = 65;

// One shape of the check, its inputs and references shared by all variants.
class ShapeCheck {
 public:
  /// `share` of the check is done when this shape is.
  ShapeCheck(const LabOp& op, ShapeView shape, const CheckOptions& options, size_t turn, double share,
             ShapeKind kind, const std::vector<Progress>& progress, CrashGuard& guard,
             std::optional<size_t> alignment = std::nullopt)
      : op_(op),
        options_(options),
        shape_(shape),
        work_(busiest_work(op, shape)),
        turn_(turn),
        share_(share),
        alignment_(alignment.value_or(turn % kCoveredAlignments)),
        has_alignment_(alignment.has_value()),
        asked_(!options.shape.empty()),
        beyond_(kind == ShapeKind::beyond),
        specs_(op.op.tensors(shape)),
        guard_(guard) {
    Generator random = generator_of(options, turn);
    if (kind == ShapeKind::threads) {
      givens_.push_back(make_given(op, shape, specs_, Pattern::random, random));
      return;
    }
    // Few cases go beyond the usual: their wide inputs keep every scale.
    for (const Pattern pattern :
         beyond_ ? patterns_beyond(op, shape) : patterns_for(op, options, work(op.op, shape), turn))
      givens_.push_back(make_given(op, shape, specs_, pattern, random, beyond_ ? kAsDrawn : turn));
    if (!options.quick && !beyond_ && uses(Detector::changed_element))
      changed_ = change_one(op, shape, specs_, givens_.front(), random);
    if (!options.quick && op.op.terms(shape) > 0 && work(op.op, shape) > 0 && uses(Detector::sixteen_bits) &&
        (turn % kSuspectEvery == 0 || asked_ || beyond_) && work(op.op, shape) < kSuspectBelow)
      suspects_.emplace(op.op, shape, specs_, givens_.front());
    std::optional<Unit> coarsest;  // of those with eight bits
    for (const Progress& p : progress)
      if (is_eight_bits(p.variant->numerics)) coarsest = std::max(coarsest, {p.variant->numerics.unit});
    if (coarsest && work_ < kSuspectBelow) changes_.emplace(op.op, shape, specs_, givens_, *coarsest);
  }

  // CPU variants with unmapped pages about their memory and other numbers of threads: last, since OpenMP's threads end with those.
  void check_surrounded(Progress& progress) {
    // A vendor library has its scratch memory for as many threads as there were when it was set up: more of them corrupt the heap.
    if (progress.variant->peer) return;
    if (options_.quick || beyond_ || progress.result.cases == 0 || !progress.result.failures.empty()) return;
    if (turn_ % 2 == 1 && !asked_) return;  // mapping pages is most of what it costs
    const size_t turn = turn_ / 2;
    constexpr GuardPlacement kPlacements[] = {GuardPlacement::from_page, GuardPlacement::to_page,
                                              GuardPlacement::near_page};
    for (size_t k = 0; k < (asked_ ? std::size(kPlacements) : 1); ++k) {
      // All pairs of the two come, turn by turn.
      const GuardPlacement placement = kPlacements[(turn + k) % std::size(kPlacements)];
      const int threads = other_threads(turn / 3 + k);
      if (auto failure = check_surrounded(progress, placement, threads))
        return progress.result.failures.push_back(std::move(*failure));
    }
  }

  // Several numbers of threads, one call after the other in the same buffers; two where a variant works alone at this size.
  void check_threads(Progress& progress) {
    Trial trial(op_.op, *progress.variant, shape_, specs_,
                offsets_for(specs_.size(), Alignment::whole, turn_), guard_);
    for (const int threads : kNumbersOfThreads) {
      if (!supports(*progress.variant, threads)) continue;
      trial.with_threads(threads);
      if (auto failure = run(trial, givens_.front(), progress, true))
        return progress.result.failures.push_back(std::move(*failure));
      if (trial.threads_seen() > 1 || threads != kNumbersOfThreads[0]) continue;
      // It may still ask how many there are. Arrays with a place for each thread have 8, 16 or 64 of them.
      if (!supports(*progress.variant, kManyThreads)) break;
      trial.with_threads(kManyThreads);
      if (auto failure = run(trial, givens_.front(), progress, true))
        return progress.result.failures.push_back(std::move(*failure));
      break;
    }
    if (progress.variant->watched && uses(Detector::thread_races)) watch_threads(progress);
  }

  // One run in which each access is seen. It takes some hundred times as long.
  void watch_threads(Progress& progress) {
    if (work_ > kThreadsWatchedBelow) {
      progress.result.note =
          "its threads were not watched: too much work at the smallest size that is divided";
      return;
    }
    Variant form = *progress.variant;
    form.bind = form.watched;
    Trial trial(op_.op, form, shape_, specs_, offsets_for(specs_.size(), Alignment::whole, turn_), guard_);
    trial.with_threads(kThreadsWatched);
    if (!supports(form, kThreadsWatched)) return;
    if (auto failure = trial.race(givens_.front()))
      return progress.result.failures.push_back(std::move(*failure));
    progress.one_wrote = trial.writers() < 2;
    progress.result.note = progress.one_wrote ? "its threads were not watched: one of them wrote everything"
                           : trial.all_watched() ? "threads watched, no race"
                                                 : "threads watched, no race: of a part of what they touch";
  }

  void check(Progress& progress) {
    CheckResult& result = progress.result;
    std::string reason = progress.variant->supported(shape_, host_of(*progress.variant));
    if (is_cuda(*progress.variant)) {
      std::string why;
      if (options_.backend == "cuda" && !on_gpu() && !gpu(&why)) reason = "no GPU here: " + why;
      if (on_gpu() && !progress.variant->device) reason = "not compiled for a GPU (preset cuda)";
      if (!asked_ && !on_gpu() && !affordable(progress)) {
        if (beyond_ && reason.empty())
          launch_only_.check(*progress.variant, givens_.front(), result.failures);
        return;
      }
    }
    if (!reason.empty()) {
      ++result.skipped_cases;
      if (result.cases == 0) result.skipped = reason;
      return;
    }
    result.skipped.clear();
    ++progress.shapes;
    // A vendor library is not what is taught: it has to be right where it is timed, and at some others.
    if (progress.variant->peer && !asked_ && turn_ % 4 != 0 && result.cases > 0) return;
    if (!beyond_ && is_round(op_, shape_)) ++progress.round_shapes;
    const std::vector<Alignment> alignments = alignments_for(progress);
    for (const Alignment a : alignments) {
      progress.alignments |= 1U << int(a);
      if (auto failure = check_at(a, a == alignments.front(), progress))
        return result.failures.push_back(std::move(*failure));
    }
  }

 private:
  // What a CUDA variant has cost, over what it may have by now.
  double ahead(const Progress& progress) const {
    return asked_ || on_gpu() ? 0 : progress.spent / (kCudaWork * share_);
  }

  bool supports(const Variant& variant, int threads) const {
    const int usual = omp_get_max_threads();
    omp_set_num_threads(threads);
    const bool able = variant.supported(shape_, host_of(variant)).empty();
    omp_set_num_threads(usual);
    return able;
  }

  std::optional<Failure> check_surrounded(Progress& progress, GuardPlacement placement, int threads) {
    if (!supports(*progress.variant, threads)) return std::nullopt;
    const auto offsets = offsets_for(specs_.size(), kAlignments[turn_ / 2 % 2], turn_);
    Trial trial(op_.op, *progress.variant, shape_, specs_, offsets, guard_, placement);
    trial.with_threads(threads);
    return run(trial, givens_[turn_ / 2 % givens_.size()], progress, true);
  }

  // The host executor takes its time: of CUDA variants the large shapes are left out, all but those beyond what is usual,
  // which are run where they do not take long.
  bool affordable(Progress& progress) {
    if (!beyond_) return work_ <= kCudaBelow && ahead(progress) <= 2;
    double left = kCudaBeyond - progress.spent_beyond;
    if (left <= elements() * kPerElement) return false;
    const HostWork work =
        expected_host_work(op_, *progress.variant, shape_, left, kFewMultiprocessors, part_inputs_);
    progress.spent_beyond += work.spent;
    progress.expected = work.expected;
    left -= work.spent;
    const double runs = left / (work.expected + elements() * kPerElement);
    progress.runs_left = int(std::min(runs, 100.0));
    return progress.runs_left > 0;
  }

  /// Returns the number of elements of all tensors.
  double elements() const {
    double count = 0;
    for (const TensorSpec& spec : specs_) count += double(volume(spec.dims));
    return count;
  }

  std::vector<int64_t> offsets(Alignment alignment, const Progress& progress) const {
    // Every fourth of these shapes has all tensors off, as others have.
    const size_t turn = progress.round_shapes;
    if (beyond_ || asked_ || turn % 4 == 0 || !is_round(op_, shape_))
      return offsets_for(specs_.size(), alignment, turn_);
    return offsets_of_one(specs_.size(), alignment, turn - turn / 4);
  }

  bool to_be_watched(const Progress& progress) const {
    if (beyond_) return false;
    return work_ <= kWatchedBelow || (progress.watched < kWatchedAtLeast && ahead(progress) <= 1);
  }

  // Small shapes with all alignments, others with one; of the latter one that the variant has not met yet, if there is one.
  std::vector<Alignment> alignments_for(const Progress& progress) const {
    if (options_.quick || on_gpu() || !uses(Detector::misalignment))
      return {Alignment::whole};  // a GPU's own tensors are always aligned
    const bool small = work(op_.op, shape_) <= kTryEverythingBelow || asked_;
    const std::span<const Alignment> all = kAlignments;
    if (small && !beyond_ && (!is_cuda(*progress.variant) || ahead(progress) <= 1)) {
      if (asked_) return {all.begin(), all.end()};
      return {Alignment::whole, all[1 + alignment_]};
    }
    // A sum of many numbers takes another way where it reads several at once.
    if (beyond_ && givens_.size() > 2) return {Alignment::whole, all[1 + turn_ % (all.size() - 1)]};
    if (has_alignment_) return {all[1 + alignment_]};
    for (const Alignment a : all)
      if (!(progress.alignments >> int(a) & 1)) return {a};
    return {all[turn_ % all.size()]};
  }

  std::optional<Failure> check_at(Alignment alignment, bool first_of_them, Progress& progress) {
    Trial trial(op_.op, *progress.variant, shape_, specs_, offsets(alignment, progress), guard_);
    if (!on_gpu() && (beyond_ || turn_ % 2 == 1)) trial.on_multiprocessors(kFewMultiprocessors);
    // CUDA on the host: every access is watched in the first run; the others are fast ones.
    const bool watched = is_cuda(*progress.variant) && !on_gpu() && (asked_ || to_be_watched(progress));
    if (watched && first_of_them) ++progress.watched;
    const bool limited = beyond_ && is_cuda(*progress.variant) && !on_gpu();
    if (limited) {
      const auto most = uint64_t(kUnexpected * progress.expected);
      trial.end_after(std::max(kBeyondSteps, most), most);
    }
    // All patterns once; at other alignments the random inputs and one hard pattern.
    const bool few = !asked_ && !first_of_them;
    const size_t hard = givens_.size() > 1 ? 1 + turn_ % (givens_.size() - 1) : 0;
    // What is watched there is the hard one, so that shape by shape each kind of inputs is.
    const size_t watched_inputs = first_of_them || !uses(Detector::watched_kinds) ? 0 : hard;
    const double before = progress.spent;
    std::vector<std::vector<char>> first;
    for (const Given& given : givens_) {
      const auto k = size_t(&given - givens_.data());
      if (k != 0 && k != hard && !beyond_ && (few || ahead(progress) > 1)) continue;
      // Where not all can be run: random inputs show less than the others.
      if (limited && k == 0 && progress.runs_left < int(givens_.size())) continue;
      if (limited && progress.runs_left-- <= 0) return std::nullopt;
      const auto work_before = double(trial.host_work());
      if (!beyond_) {
        const bool now = watched && (k == watched_inputs || is_first_of_kind(given, progress));
        trial.watch(now, asked_ || !now ? 0 : kWatchedSteps);
      }
      auto found = run(trial, given, progress, !first_of_them);
      if (limited)
        progress.spent_beyond += double(trial.host_work()) - work_before + elements() * kPerElement;
      if (found) {
        if (beyond_ && trial.ended_early()) return std::nullopt;
        return found;
      }
      progress.spent = before + double(trial.host_work());
      if (k == 0) first = trial.outputs();
      if (!beyond_) trial.watch(false);
      if (k != 0 || !changed_ || !first_of_them) continue;
      trial.changed(first, changed_->what);
      auto failure = run(trial, changed_->given, progress, true);
      trial.changed({}, "");
      if (failure) return failure;
      progress.spent = before + double(trial.host_work());
    }
    // Large shapes alternate: with results that are already there, and without.
    const bool large = work(op_.op, shape_) > kTryEverythingBelow && !asked_;
    if (beyond_ || few || (large && turn_ % 2 == 1)) return std::nullopt;
    if (uses(Detector::results_found)) trial.find_done(first);
    if (auto failure = run(trial, givens_.front(), progress, true)) return failure;
    progress.spent = before + double(trial.host_work());
    if (!uses(Detector::repetition)) return std::nullopt;
    return trial.repeats(first, givens_.front());
  }

  // Some findings need inputs of one kind: several entries that are not finite, keys that are equal. The first shapes of some size
  // have each kind watched.
  bool is_first_of_kind(const Given& given, Progress& progress) const {
    constexpr int kEachKind = 3;
    constexpr double kSomeElements = 200;
    if (!uses(Detector::watched_kinds) || elements() < kSomeElements) return false;
    return progress.kinds_watched[size_t(given.pattern)]++ < kEachKind;
  }

  std::optional<Failure> run(Trial& trial, const Given& given, Progress& progress, bool again = false) {
    Trial::Outcome outcome = trial.run(given);
    ++progress.result.cases;
    progress.block_turns = std::max(progress.block_turns, trial.block_turns());
    if (!is_cuda(*progress.variant) && !beyond_) note_threads(trial.threads_seen(), progress);
    if (outcome.failure) return named(std::move(*outcome.failure), *progress.variant, trial, given);
    progress.result.worst = std::max(progress.result.worst, outcome.worst);
    const Fault whole = op_.op.forward.empty() ? Fault::whole_output : Fault::gradient;
    if (changes_ && is_eight_bits(progress.variant->numerics))
      if (auto failure = changes_->judge(given, outcome.outputs, op_.op.terms(shape_), whole))
        return named(std::move(*failure), *progress.variant, trial, given);
    if (given.pattern != Pattern::random) return std::nullopt;
    if (auto failure = judge_whole(outcome, given, progress, again))
      return named(std::move(*failure), *progress.variant, trial, given);
    if (!suspects_ || &given != &givens_.front()) return std::nullopt;
    const Numerics& numerics = progress.variant->numerics;
    const auto suspicion = suspects_->judge(trial.outputs(), numerics);
    if (!suspicion || !confirmed(*suspicion, op_, shape_, specs_, trial, given)) return std::nullopt;
    Failure failure = failure_of(*suspicion);
    failure.inputs = shape_text(op_.op, shape_) + ", " + name_of(given.pattern) + " inputs";
    return failure;
  }

  void note_threads(int seen, Progress& progress) const {
    const DividedShape place = divided_shape(work_);
    if (seen > 1 && (progress.divided.empty() || place < progress.divided_place)) {
      progress.divided.assign(shape_.begin(), shape_.end());
      progress.divided_place = place;
    }
    progress.watchable.resize(shape_.size());
    for (size_t d = 0; d < shape_.size() && seen > 1 && work_ <= kThreadsWatchedBelow; ++d)
      if (std::vector<int64_t>& most = progress.watchable[d]; most.empty() || shape_[d] > most[d])
        most.assign(shape_.begin(), shape_.end());
    if (work_ <= progress.largest_work) return;
    progress.largest.assign(shape_.begin(), shape_.end());
    progress.largest_work = work_;
  }

  // With what the error looks like, where it looks like something.
  Failure named(Failure failure, const Variant& variant, const Trial& trial, const Given& given) const {
    const bool value = failure.fault == Fault::wrong_value || failure.fault == Fault::whole_output ||
                       failure.fault == Fault::gradient;
    if (!value || (given.pattern != Pattern::random && given.pattern != Pattern::wide)) return failure;
    const auto outputs = trial.outputs();
    const std::string like = resemblance(op_.op, shape_, specs_, given, outputs, failure.tensor);
    std::string law;
    if (failure.fault == Fault::wrong_value && (like.empty() || like.find("rounding") != std::string::npos))
      law = law_note(op_, variant.numerics, shape_, specs_, given, outputs, failure.tensor);
    failure.note += law.empty() ? like : law;
    return failure;
  }

  // Outputs on random inputs as a whole; of backward ops as gradients.
  std::optional<Failure> judge_whole(const Trial::Outcome& outcome, const Given& given, Progress& progress,
                                     bool again) {
    const bool backward = !op_.op.forward.empty();
    const double terms = op_.op.terms(shape_);
    size_t output = 0;
    for (const TensorSpec& spec : specs_) {
      if (spec.role == Role::input) continue;
      const ErrorSums& sums = outcome.outputs[output].sums;
      const Tolerance allowed = tolerance(progress.variant->numerics, terms, false, spec.element);
      if (progress.bias.size() <= output) progress.bias.push_back({.tensor = spec.name});
      if (!again && backward && !beyond_)
        progress.bias[output].add(sums, allowed);  // a repetition is no independent case
      ++output;
      if (!uses(Detector::whole_outputs)) continue;
      if (auto failure =
              backward ? judge_gradient(spec.name, sums, allowed) : judge_output(spec.name, sums, allowed)) {
        failure->inputs = shape_text(op_.op, shape_) + ", " + name_of(given.pattern) + " inputs";
        return failure;
      }
    }
    return std::nullopt;
  }

  const LabOp& op_;
  const CheckOptions& options_;
  ShapeView shape_;
  double work_;  // of the busiest rung
  size_t turn_;
  double share_;
  size_t alignment_;  // besides the whole one
  bool has_alignment_, asked_, beyond_;
  std::vector<TensorSpec> specs_;
  CrashGuard& guard_;
  std::vector<Given> givens_;
  LaunchOnly launch_only_{op_.op, shape_, specs_};
  PartInputs part_inputs_{op_};
  std::optional<Suspects> suspects_;  // of the first of them
  std::optional<Sensitivity> changes_;
  std::optional<Changed> changed_;
};

// Returns whether no variant supports that shape, and counts it as left out; its reference then need not run.
bool none_supports(std::vector<Progress>& progress, ShapeView shape) {
  std::vector<std::string> reasons;
  for (const Progress& p : progress) {
    reasons.push_back(p.variant->supported(shape, host_of(*p.variant)));
    if (reasons.back().empty()) return false;
  }
  for (size_t v = 0; v < progress.size(); ++v) {
    ++progress[v].result.skipped_cases;
    if (progress[v].result.cases == 0) progress[v].result.skipped = reasons[v];
  }
  return true;
}

// Larger shapes of variants that woke a team at the cheapest one, without anything to do for a second thread.
std::map<std::vector<int64_t>, std::vector<Progress*>> shapes_to_watch(std::vector<Progress>& progress) {
  std::map<std::vector<int64_t>, std::vector<Progress*>> list;
  for (Progress& p : progress)
    for (size_t d = 0; d < p.watchable.size() && p.one_wrote && p.result.failures.empty(); ++d)
      if (const auto& shape = p.watchable[d]; !shape.empty() && shape != p.divided)
        if (auto& some = list[shape]; some.empty() || some.back() != &p) some.push_back(&p);
  return list;
}

// Variants that divide their work at the same shape are checked together there.
std::map<std::vector<int64_t>, std::vector<Progress*>> shapes_for_threads(std::vector<Progress>& progress) {
  std::map<std::vector<int64_t>, std::vector<Progress*>> list;
  for (Progress& p : progress)
    if (!is_cuda(*p.variant) && !p.variant->peer && p.result.failures.empty() && p.largest_work > 0)
      list[p.divided.empty() ? p.largest : p.divided].push_back(&p);
  return list;
}

}  // namespace

OpCheck check(const LabOp& op, std::span<const Variant* const> variants, const CheckOptions& options) {
  CrashGuard guard;
  const KeptMappings mappings;
  const int threads = omp_get_max_threads();
  const OnGpu where(options.backend == "cuda" && this_host().gpu);
  std::vector<Progress> progress;
  if (std::ranges::any_of(variants, [](const Variant* v) { return is_cuda(*v); }))
    simt::load_traced_variants();
  load_watched_rungs();
  for (const Variant* v : variants)
    progress.push_back({.variant = v, .result = {.variant = v->id}, .bias = {}});

  const auto [shapes, usual, alignments] = shapes_in_order(op, variants, options);
  const auto begin_of_all = std::chrono::steady_clock::now();
  const auto late = [&](const Progress& p) {
    return options.seconds > 0 && p.shapes >= kFewestShapes && seconds_since(begin_of_all) > options.seconds;
  };
  const auto stop = [&] { return options.stop && options.stop(); };
  for (size_t turn = 0; turn < shapes.size() && !stop(); ++turn) {
    if (std::ranges::all_of(progress, [&](const Progress& p) { return p.stopped(options) || late(p); }))
      break;
    if (options.at) options.at(shapes[turn]);
    if (none_supports(progress, shapes[turn])) continue;
    guard.doing("running the reference of " + op.op.name + " at " + shape_text(op.op, shapes[turn]));
    // A tenth of the work is for the first ones, whatever they cost.
    const double share = 0.1 + 0.9 * std::min(1.0, double(turn + 1) / double(usual));
    ShapeCheck one(
        op, shapes[turn], options, turn, share, turn >= usual ? ShapeKind::beyond : ShapeKind::usual,
        progress, guard,
        alignments.contains(shapes[turn]) ? std::optional(alignments.at(shapes[turn])) : std::nullopt);
    const auto check_one = [&](Progress& p, void (ShapeCheck::*how)(Progress&) = &ShapeCheck::check) {
      if (p.stopped(options) || late(p)) return;
      const auto begin = std::chrono::steady_clock::now();
      (one.*how)(p);
      p.result.seconds += seconds_since(begin);
    };
    // CPU variants use all threads themselves; the host executor of CUDA uses one.
    for (Progress& p : progress)
      if (!is_cuda(*p.variant) && !stop()) check_one(p);
    for (Progress& p : progress)
      if (!is_cuda(*p.variant) && !stop()) check_one(p, &ShapeCheck::check_surrounded);
    use_threads(omp_get_max_threads());
    note_work("");
#pragma omp parallel for schedule(dynamic) if (!on_gpu())
    for (Progress& p : progress)  // NOLINT(openmp-exception-escape): variants' exceptions are caught in Trial
      if (is_cuda(*p.variant) && !stop()) {
        check_one(p);
        note_work("");
      }
  }
  // However late it is: what is wrong with threads shows nowhere else.
  const auto check_threads = [&](const auto& shapes_of_some, bool again) {
    for (const auto& [shape, some] : shapes_of_some) {
      if (stop()) break;
      if (options.at) options.at(shape);
      guard.doing("running the reference of " + op.op.name + " at " + shape_text(op.op, shape));
      ShapeCheck one(op, shape, options, 0, 1, ShapeKind::threads, progress, guard);
      for (Progress* p : some)
        if (!again || p->one_wrote) one.check_threads(*p);
    }
  };
  if (!options.quick && uses(Detector::numbers_of_threads)) {
    check_threads(shapes_for_threads(progress), false);
    check_threads(shapes_to_watch(progress), true);
  }
  use_threads(omp_get_max_threads());
  std::vector<VariantResult> all, few;
  for (Progress& p : progress) {
    if (on_gpu() || p.variant->peer || p.stopped(options) || late(p)) continue;
    all.push_back({.variant = p.variant, .result = &p.result});
    if (has_few_blocks(p.block_turns)) few.push_back(all.back());
  }
  check_apart(op, all, few, shapes, options, guard);

  OpCheck results;
  for (Progress& p : progress) {
    if (is_cuda(*p.variant) && p.watched > 0 && p.result.failures.empty())
      p.result.note = unwatched_lines(*p.variant);
    for (const BiasTally& tally : p.bias)
      if (auto failure = tally.judge()) p.result.failures.push_back(std::move(*failure));
    results.variants.push_back(std::move(p.result));
  }
  if (!op.op.forward.empty() && options.gradients) {
    CheckOptions rest = options;
    if (options.seconds > 0)
      rest.stop = [&] { return stop() || seconds_since(begin_of_all) > options.seconds; };
    results.reference = check_gradients(op, variants, rest, guard, results.variants);
  }
  guard.before().restore(threads);  // what gradients' variants left behind, their neighbors do not feel
  if (options.done) {
    for (const CheckResult& result : results.variants) options.done(result);
    if (results.reference) options.done(*results.reference);
  }
  return results;
}

}  // namespace klab
