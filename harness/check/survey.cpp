#include "harness/check/survey.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/check/cases.h"
#include "harness/check/in_common.h"
#include "harness/check/supported_shapes.h"
#include "harness/check/trial.h"
#include "harness/check/turns.h"
#include "harness/core/element.h"
#include "harness/core/optional_dims.h"
#include "harness/simt/modules.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr double kSurveyWork = 4e7;      // of all runs of a CPU variant, in units of work()
constexpr double kSurveyHostWork = 4e7;  // of a CUDA variant on the host, in units of simt::Session::work()
constexpr size_t kSurveyShapes = 220;
constexpr uint64_t kSurveySteps = 2'000'000;  // of a block of a CUDA variant

/// Numbers at which a narrower format or a clamp stops: the largest of half, of two kinds of 8 bits, of integers.
constexpr double kFormatLimits[] = {65504, 57344, 448,   240,   127,        128,
                                    255,   32767, 32768, 65535, 2147483647, 2147483648};

constexpr size_t kSeveral = 3;       // wrong elements: a case of fewer shows little
constexpr size_t kCasesOfLaws = 24;  // with wrong values, that are kept

/// Compares one output of the last run with the reference. `before`: what it held, if it is read as well.
WrongValues compared(const TensorSpec& spec, const std::vector<char>& got, const Buffer& reference,
                     const Buffer* before, double tiny) {
  WrongValues v{.tensor = spec.name};
  const Element wide = spec.element == Element::f32 ? Element::f64 : spec.element;
  const int64_t n = volume(spec.dims);
  std::vector<double> mine(static_cast<size_t>(n)), want(static_cast<size_t>(n));
  std::vector<int64_t> wrong;
  double largest = 0, scale = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double a = mine[size_t(i)] = load(spec.element, got.data(), i);
    const double b = want[size_t(i)] = load(wide, reference.data(), i);
    const double error = std::abs(a - b);
    if (std::isfinite(a)) largest = std::max(largest, std::abs(a));
    if (std::isfinite(b)) scale = std::max(scale, std::abs(b));
    const bool same = a == b || (std::isnan(a) && std::isnan(b)) || error <= tiny * std::abs(b);
    if (!same) wrong.push_back(i);
    if (!same && std::isnan(a)) ++v.nan;
    if (!same && std::isinf(a) && std::isfinite(b)) ++v.infinite;
    if (!same && std::isfinite(a) && std::isinf(b)) ++v.finite;
    if (!same && a == 0) ++v.zero;
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    if (!same && b != 0) v.relative = std::max(v.relative, error / std::abs(b));
  }
  // Where 0 is expected, errors are compared with the largest value.
  for (const int64_t i : wrong)
    if (want[size_t(i)] == 0 && std::isfinite(mine[size_t(i)]))
      v.relative = std::max(v.relative, scale > 0 ? std::abs(mine[size_t(i)]) / scale : HUGE_VAL);
  v.elements = n;
  v.wrong = int64_t(wrong.size());
  if (v.wrong > 1 && before != nullptr) {
    // A small change may be all wrong, and the sum nearly right.
    v.relative = 0;
    for (const int64_t w : wrong) {
      const auto i = size_t(w);
      const double added = std::abs(want[i] - load(spec.element, before->data(), w));
      v.relative = std::max(v.relative, added > 0 ? std::abs(mine[i] - want[i]) / added : HUGE_VAL);
    }
  }
  for (const double limit : kFormatLimits) {
    int64_t stopped = 0;
    for (const int64_t i : wrong)
      stopped += std::abs(mine[size_t(i)]) == limit && !(std::abs(want[size_t(i)]) <= limit) ? 1 : 0;
    if (stopped > 0 && stopped == v.wrong && largest == limit) v.limit = limit;
  }
  return v;
}

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

class Surveyor {
 public:
  Surveyor(const LabOp& op, const Variant& variant, const SurveyOptions& options)
      : op_(op),
        variant_(variant),
        options_(options),
        shape_(with_all_dims(op.op, options.shape)),
        cpu_(variant.backend == "cpu") {
    for (const Pattern p : {Pattern::constant, Pattern::cancelling, Pattern::denormal, Pattern::huge,
                            Pattern::wide, Pattern::not_finite, Pattern::sparse, Pattern::ones})
      if (options.inputs.find(std::string(name_of(p)) + " inputs") != std::string::npos) failing_ = p;
  }

  Survey run() {
    // Time of this thread, so that a busy machine sees as many cases, up to a limit.
    constexpr double kLongest = 3;
    const double begin = seconds_of(CLOCK_MONOTONIC), worked = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    const auto shapes = chosen();
    for (size_t turn = 0; turn < shapes.size(); ++turn) {
      if (seconds_of(CLOCK_THREAD_CPUTIME_ID) - worked > options_.seconds ||
          seconds_of(CLOCK_MONOTONIC) - begin > kLongest * options_.seconds ||
          spent_ > (cpu_ ? kSurveyWork : kSurveyHostWork))
        break;
      at_shape(shapes[turn], turn);
    }
    SurveyedSizes sizes{.names = op_.op.dims, .parameter = {}, .tiles = variant_.tiles};
    for (size_t d = 0; d < sizes.names.size(); ++d) sizes.parameter.push_back(is_parameter(op_, d));
    Survey result{.common = in_common(sizes, cases_), .values = values_, .law = {}};
    result.law = law_of(op_, random_.empty() ? others_ : random_);
    for (const SurveyedCase& c : cases_) {
      ++(c.failed ? result.failed : result.passed);
      result.random_failed += c.failed && c.pattern == Pattern::random ? 1 : 0;
    }
    return result;
  }

 private:
  /// Returns the cheaper shapes of the check in its order, and the one that failed first.
  std::vector<std::vector<int64_t>> chosen() const {
    const Variant* const one[] = {&variant_};
    auto shapes = supported_among(variant_, shapes_of_check(op_, one, {}, options_.seed));
    std::ranges::stable_sort(shapes, {}, [&](const auto& s) { return work(op_.op, s); });
    const bool usual = shape_.empty() || std::ranges::find(shapes, shape_) != shapes.end();
    if (shapes.size() > kSurveyShapes) shapes.resize(kSurveyShapes);
    std::ranges::reverse(shapes);  // the budget is for large and small ones: large ones have most properties
    for (auto& shape : neighbors()) shapes.insert(shapes.begin(), std::move(shape));
    if (!usual || std::ranges::find(shapes, shape_) == shapes.end())
      if (!shape_.empty()) shapes.insert(shapes.begin(), shape_);
    if (!usual)
      for (auto& shape : supported_among(variant_, shapes_beyond(op_, options_.seed)))
        if (shape != shape_) shapes.insert(shapes.begin() + 1, std::move(shape));
    // What costs more than a share of all is tried only if it is what failed.
    const double most = (cpu_ ? kSurveyWork : kSurveyHostWork / 30) / 8;
    std::erase_if(shapes, [&](const auto& s) { return s != shape_ && work(op_.op, s) > most; });
    return shapes;
  }

  /// Returns shapes that differ from the failing one in one size.
  std::vector<std::vector<int64_t>> neighbors() const {
    std::vector<std::vector<int64_t>> list;
    if (shape_.empty()) return list;
    constexpr int64_t kNear[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 20, 24, 32, 33, 40, 48, 64, 65, 96, 128};
    const auto sizes = check_sizes(op_, variant_.tiles);
    for (size_t d = 0; d < shape_.size(); ++d) {
      std::vector<int64_t> values = sizes[d];
      if (!is_parameter(op_, d)) values.insert(values.end(), std::begin(kNear), std::end(kNear));
      std::ranges::sort(values);
      values.erase(std::unique(values.begin(), values.end()), values.end());
      for (const int64_t value : values) {
        auto shape = shape_;
        shape[d] = value;
        if (shape == shape_ || !op_.op.valid(shape)) continue;
        if (work(op_.op, shape) < 1e5 || work(op_.op, shape) <= 2 * work(op_.op, shape_))
          list.push_back(shape);
      }
    }
    return supported_among(variant_, list);
  }

  void at_shape(const std::vector<int64_t>& shape, size_t turn) {
    const auto specs = op_.op.tensors(shape);
    Generator random(options_.seed * 1000003 + turn);
    std::vector<Pattern> patterns(std::begin(kPatterns) + 1, std::end(kPatterns));
    if (!op_.nan_in.empty() || !op_.infinity_in.empty()) patterns.push_back(Pattern::not_finite);
    // Every second time the pattern that is known to fail, so that cases with it are not few.
    const bool known = failing_ && *failing_ != Pattern::random && turn % 2 == 0;
    const Pattern other = known ? *failing_ : patterns[turn / (failing_ ? 2 : 1) % patterns.size()];
    const auto usual = std::make_shared<const Given>(make_given(op_, shape, specs, Pattern::random, random));
    const auto hard = std::make_shared<const Given>(make_given(op_, shape, specs, other, random, turn));
    const int64_t all = cpu_ ? omp_get_max_threads() : 0;
    const Alignment off = kAlignments[1 + turn % (std::size(kAlignments) - 1)];
    one(shape, specs, usual, Alignment::whole, all, turn);
    one(shape, specs, hard, Alignment::whole, all, turn);
    one(shape, specs, usual, off, all, turn);
    if (cpu_)
      one(shape, specs, usual, Alignment::whole, all == 1 || turn % 2 == 0 ? other_threads(turn) : 1, turn);
  }

  void one(const std::vector<int64_t>& shape, const std::vector<TensorSpec>& specs,
           const std::shared_ptr<const Given>& given, Alignment alignment, int64_t threads, size_t turn) {
    Trial trial(op_.op, variant_, shape, specs, offsets_for(specs.size(), alignment, turn / 3 * 3), guard_);
    if (cpu_ && threads != omp_get_max_threads()) trial.with_threads(int(threads));
    if (!cpu_ && options_.watched)
      trial.watch(true, kSurveySteps);
    else if (!cpu_)
      trial.end_after(kSurveySteps, uint64_t(kSurveyHostWork));
    const auto failure = trial.failure(*given);
    spent_ += cpu_ ? 5 * work(op_.op, shape) + 2000 : double(trial.host_work());
    const bool values =
        failure && (failure->fault == Fault::wrong_value || failure->fault == Fault::non_finite);
    const double cost = work(op_.op, shape);
    if (values) note_values(shape, specs, *given, trial, *failure, cost);
    if (values && alignment == Alignment::whole) keep_for_laws(shape, specs, given, trial, *failure);
    // Where no output has elements, nothing can be wrong.
    bool empty = true;
    for (const TensorSpec& spec : specs)
      empty = empty && (spec.role == Role::input || volume(spec.dims) == 0);
    if (!empty || failure) cases_.push_back({shape, given->pattern, alignment, threads, failure.has_value()});
  }

  void note_values(ShapeView shape, const std::vector<TensorSpec>& specs, const Given& given,
                   const Trial& trial, const Failure& failure, double cost) {
    const auto outputs = trial.outputs();
    size_t output = 0;
    for (size_t k = 0; k < specs.size(); ++k) {
      if (specs[k].role == Role::input) continue;
      const std::vector<char>& bytes = outputs[output++];
      if (specs[k].name != failure.tensor) continue;
      const double tiny = is_integer(specs[k].element) ? 0 : specs[k].element == Element::f32 ? 1e-5 : 1e-2;
      const Buffer* before = specs[k].role == Role::accumulate ? &given.inputs[k] : nullptr;
      const WrongValues v = compared(specs[k], bytes, given.reference[k], before, tiny);
      const bool more = values_.wrong < int64_t(kSeveral) && v.wrong > values_.wrong;
      const bool fewer = values_.wrong >= int64_t(kSeveral) && v.wrong < int64_t(kSeveral);
      if (!values_.tensor.empty() && !more && (fewer || cost >= cost_)) return;
      values_ = v;
      values_.shape.assign(shape.begin(), shape.end());
      cost_ = cost;
    }
  }

  /// Keeps cases of one output, those with random inputs apart: others are alike in ways that laws are mistaken for.
  void keep_for_laws(ShapeView shape, const std::vector<TensorSpec>& specs,
                     const std::shared_ptr<const Given>& given, const Trial& trial, const Failure& failure) {
    std::vector<WrongCase>& list = given->pattern == Pattern::random ? random_ : others_;
    const bool full = list.size() >= kCasesOfLaws;
    if (full && !adds_a_size(list, shape)) return;
    if (!list.empty() && list.back().given == given) return;  // with another number of threads
    if (!list.empty() && list.back().specs[list.back().output].name != failure.tensor) return;
    auto kept = wrong_case(op_.op, variant_.numerics, shape, specs, given, trial.outputs(), failure.tensor);
    if (!kept) return;
    if (full)
      list[list.size() - 1 - replaced_++] = std::move(*kept);
    else
      list.push_back(std::move(*kept));
  }

  /// Returns whether nearly all cases that were kept have one size in a dimension in which the shape has another: a factor of two may
  /// be that size.
  bool adds_a_size(const std::vector<WrongCase>& list, ShapeView shape) const {
    constexpr int64_t kOthers = 4;  // enough for a law of the size to hold in more cases than one of a number
    if (replaced_ >= list.size() / 2) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t usual = list.front().shape[d];
      if (shape[d] != usual &&
          std::ranges::count_if(list, [&](const WrongCase& c) { return c.shape[d] != usual; }) < kOthers)
        return true;
    }
    return false;
  }

  const LabOp& op_;
  const Variant& variant_;
  const SurveyOptions& options_;
  const std::vector<int64_t> shape_;  // the failing one, or none
  bool cpu_;
  std::optional<Pattern> failing_;  // the pattern of the first failure, unless random
  CrashGuard guard_;
  double spent_ = 0, cost_ = 0;
  std::vector<SurveyedCase> cases_;
  WrongValues values_;
  std::vector<WrongCase> random_, others_;  // with wrong values
  size_t replaced_ = 0;                     // of these, by cases of other sizes
};

}  // namespace

Survey survey(const LabOp& op, const Variant& variant, const SurveyOptions& options) {
  if (variant.backend != "cpu") simt::load_traced_variants();
  return Surveyor(op, variant, options).run();
}

nlohmann::json to_json(const Survey& s) {
  const WrongValues& v = s.values;
  nlohmann::json j = {{"failed", s.failed},     {"passed", s.passed}, {"random_failed", s.random_failed},
                      {"common", s.common},     {"tensor", v.tensor}, {"shape", v.shape},
                      {"elements", v.elements}, {"wrong", v.wrong},   {"infinite", v.infinite},
                      {"finite", v.finite},     {"nan", v.nan},       {"zero", v.zero},
                      {"relative", v.relative}, {"limit", v.limit}};
  if (s.law)
    j["law"] = {{"mistake", s.law->mistake}, {"sentence", s.law->sentence},
                {"values", s.law->values},   {"cases", s.law->cases},
                {"of", s.law->of},           {"share", s.law->share}};
  return j;
}

Survey survey_from(const nlohmann::json& j) {
  const auto number = [&](const char* key) {
    return j.at(key).is_number() ? j.at(key).get<double>() : HUGE_VAL;
  };
  Survey s{.failed = j.at("failed"),
           .passed = j.at("passed"),
           .random_failed = j.at("random_failed"),
           .common = j.at("common"),
           .values = {.tensor = j.at("tensor"),
                      .shape = j.at("shape"),
                      .elements = j.at("elements"),
                      .wrong = j.at("wrong"),
                      .infinite = j.at("infinite"),
                      .finite = j.at("finite"),
                      .nan = j.at("nan"),
                      .zero = j.at("zero"),
                      .relative = number("relative"),  // JSON has no infinity
                      .limit = number("limit")},
           .law = {}};
  if (const auto law = j.find("law"); law != j.end())
    s.law = Law{.mistake = law->at("mistake"),
                .sentence = law->at("sentence"),
                .values = law->at("values"),
                .cases = law->at("cases"),
                .of = law->at("of"),
                .share = law->at("share")};
  return s;
}

}  // namespace klab
