#include "harness/check/trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <random>
#include <thread>
#include <utility>

#include "harness/check/cases.h"
#include "harness/check/detectors.h"
#include "harness/check/drawn_cases.h"
#include "harness/core/element.h"
#include "harness/core/optional_dims.h"
#include "harness/simt/block_turns.h"
#include "harness/simt/session.h"
#include "reference/relations.h"

namespace klab {

Trial::Trial(const Op& op, const Variant& variant, ShapeView shape, const std::vector<TensorSpec>& specs,
             std::vector<int64_t> offsets, CrashGuard& guard, GuardPlacement placement)
    : op_(op),
      variant_(variant),
      shape_(shape),
      specs_(specs),
      offsets_(std::move(offsets)),
      guard_(guard),
      placement_(placement),
      tensors_(specs, Tensors::View::variant, offsets_, placement),
      call_(variant.bind(shape, given_to(variant, specs, tensors_.pointers()))),
      cpu_(variant, specs, tensors_, call_, guard) {}

Trial::~Trial() {
  // A thread that the variant has left behind may write to them at any time.
  if (abandoned_ || cpu_.left_threads()) static_cast<void>(new Tensors(std::move(tensors_)));
}

namespace {

constexpr uint64_t kUnwatched = 200;  // times the steps that a watched block may take

/// Returns the finding that says most. Where a barrier is missing, an early thread reads unwritten memory, which is found before
/// its race with the thread that writes there.
const simt::Finding& clearest(const std::vector<simt::Finding>& findings) {
  const simt::Finding& first = findings.front();
  if (first.kind != simt::Kind::uninitialized) return first;
  const auto race = std::ranges::find_if(findings, [&](const simt::Finding& f) {
    return f.kind == simt::Kind::shared_race && f.kernel == first.kernel;
  });
  return race != findings.end() ? *race : first;
}

/// "3 of 64 elements were never written: row 2", of what describe_wrong() says of them.
std::string unwritten(std::string what) {
  for (const auto& [from, to] : {std::pair<std::string, std::string>{" are wrong", " were never written"},
                                 {" is wrong", " was never written"}})
    if (const size_t at = what.find(from); at != std::string::npos) what.replace(at, from.size(), to);
  return what;
}

}  // namespace

// An optional tensor holds another one in 16 bits. Usually both are the same numbers, and its readers are held to what all are
// held to; drawn widely they are not, and their difference is that of the format.
Numerics Trial::numerics_at(Pattern pattern) const {
  Numerics numerics = variant_.numerics;
  const bool reads_another =
      std::ranges::any_of(variant_.needs, [&](const std::string& name) { return !is_dim(op_, name); });
  if (pattern == Pattern::wide && reads_another && numerics.unit == Unit::f32) numerics.unit = Unit::f16;
  return numerics;
}

// NaN shows in whatever is made of it. Integers have no such value, and -1, which 0xFF is, is an answer in many a table of
// indices: at every other shape they hold another.
char Trial::poison_of(const TensorSpec& spec) const {
  if (poison_ != char(0xFF) || !is_integer(spec.element)) return poison_;
  int64_t sum = 0;
  for (const int64_t extent : shape_) sum += extent;
  return sum % 2 == 0 ? char(0xA5) : char(0xFF);
}

/// Puts the outputs of find_done() in place, and poisons one element of each.
void Trial::nearly_done() {
  size_t output = 0;
  for (size_t k = 0; k < specs_.size(); ++k) {
    if (specs_[k].role == Role::input) continue;
    const std::vector<char>& bytes = done_[output++];
    const auto width = size_t(size_of(specs_[k].element)), count = bytes.size() / width;
    if (specs_[k].role != Role::output || count == 0) continue;
    std::memcpy(tensors_[k].data(), bytes.data(), bytes.size());
    const size_t missing = std::minstd_rand(unsigned(missing_ * 7919 + output))() % count;
    std::memset(tensors_[k].as<char>() + missing * width, poison_of(specs_[k]), width);
  }
}

std::optional<Failure> Trial::execute(const Given& given) {
  if (watch_limit_ > 0 && watched_) {
    if (auto failure = execute(given, {.traced = true, .counts = false, .step_limit = watch_limit_});
        !ended_early_)
      return failure;
    watched_ = false;
  }
  return execute(given, {.traced = watched_,
                         .counts = false,
                         .step_limit = step_limit_ > 0 ? step_limit_ : watch_limit_ * kUnwatched,
                         .work_limit = work_limit_});
}

/// Puts inputs and poisoned outputs in place.
void Trial::prepare(const Given& given) {
  for (size_t k = 0; k < tensors_.size(); ++k) tensors_[k].read_only(false);
  copy_given(specs_, given.inputs, tensors_);
  poison_outputs(specs_, tensors_);
  for (size_t k = 0; k < specs_.size(); ++k)
    if (specs_[k].role == Role::output && tensors_[k].bytes() > 0 && poison_of(specs_[k]) != char(0xFF))
      std::memset(tensors_[k].data(), poison_of(specs_[k]), size_t(tensors_[k].bytes()));
  if (!done_.empty()) nearly_done();
}

std::optional<Failure> Trial::execute(const Given& given, simt::Options options) {
  guard_.doing("checking " + variant_.id + " at " + describe({}, given).inputs);
  // On the host each run of a CUDA variant takes its threads in another order.
  options.seed = ++runs_;
  if (variant_.backend == "cpu") {
    auto failure = cpu_.make(runs_, [&] { prepare(given); });
    if (failure) failure = describe(std::move(*failure), given);
    return failure;
  }
  prepare(given);
  options.multiprocessors = multiprocessors_;
  simt::Session session(options);
  ended_early_ = false;
  const auto end = [&] { host_work_ += session.work(); };
  simt::reset_block_turns();
  try {
    call_();
    end();
    block_turns_ = std::max(block_turns_, simt::block_turns());
  } catch (const std::exception& e) {
    end();
    ended_early_ = !session.findings().empty() && session.findings().front().kind == simt::Kind::never_ends;
    if (!session.findings().empty())
      return describe({.fault = Fault::finding, .note = clearest(session.findings()).describe()}, given);
    return describe({.fault = Fault::threw, .note = e.what()}, given);
  } catch (...) {
    return describe({.fault = Fault::threw, .note = "not a std::exception"}, given);
  }
  if (!session.findings().empty())
    return describe({.fault = Fault::finding, .note = clearest(session.findings()).describe()}, given);
  return std::nullopt;
}

Trial::Outcome Trial::judge(const Given& given) const {
  Outcome outcome;
  for (size_t k = 0; k < specs_.size(); ++k) {
    std::string where;
    if (!uses(Detector::fences) || tensors_[k].intact(&where)) continue;
    outcome.failure = describe(
        {.fault = Fault::out_of_bounds, .tensor = specs_[k].name, .note = "written " + where}, given);
    return outcome;
  }
  if (auto failure = never_written(given)) {
    outcome.failure = std::move(failure);
    return outcome;
  }
  for (size_t k = 0; k < specs_.size(); ++k) {
    const TensorSpec& spec = specs_[k];
    if (spec.role != Role::input || spec.dims.empty() || tensors_[k].bytes() == 0) continue;
    if (!uses(Detector::inputs_kept)) break;
    const int64_t width = size_of(spec.element);
    if (std::memcmp(tensors_[k].data(), given.inputs[k].data(), size_t(tensors_[k].bytes())) == 0) continue;
    int64_t i = 0;
    while (std::memcmp(tensors_[k].as<char>() + i * width, given.inputs[k].as<char>() + i * width,
                       size_t(width)) == 0)
      ++i;
    outcome.failure = describe({.fault = Fault::input_changed,
                                .tensor = spec.name,
                                .index = index_text(i, spec.dims),
                                .expected = element_text(spec, given.inputs[k], i, false),
                                .got = element_text(spec, tensors_[k], i, false)},
                               given);
    return outcome;
  }
  const double terms = op_.terms(shape_);
  for (size_t k = 0; k < specs_.size(); ++k) {
    if (specs_[k].role == Role::input) continue;
    Tolerance allowed =
        tolerance(numerics_at(given.pattern), terms, is_hard(given.pattern), specs_[k].element);
    allowed.zeros_alike = op_.zeros_alike;
    outcome.outputs.push_back(compare(specs_[k], tensors_[k], given.reference[k], given.magnitude[k], allowed,
                                      given.pattern == Pattern::not_finite));
    outcome.worst = std::max(outcome.worst, outcome.outputs.back().worst);
    if (!outcome.outputs.back().failure) continue;
    outcome.failure = describe(*outcome.outputs.back().failure, given);
    outcome.outputs.clear();
    return outcome;
  }
  if (outcome.failure = contradiction(given); outcome.failure) outcome.outputs.clear();
  return outcome;
}

/// Elements that still hold what outputs are poisoned with, where that is no answer.
std::optional<Failure> Trial::never_written(const Given& given) const {
  for (size_t k = 0; k < specs_.size(); ++k) {
    const TensorSpec& spec = specs_[k];
    if (spec.role != Role::output) continue;
    const auto width = size_t(size_of(spec.element));
    const char byte = poison_of(spec);
    const std::vector<char> poison(width, byte);
    const Element wide = spec.element == Element::f32 ? Element::f64 : spec.element;
    std::vector<int64_t> missing;
    for (int64_t i = 0, n = volume(spec.dims); i < n; ++i) {
      const char* at = tensors_[k].as<char>() + size_t(i) * width;
      if (*at != byte || std::memcmp(at, poison.data(), width) != 0) continue;
      const double want = load(wide, given.reference[k].data(), i);
      const bool answer = is_integer(spec.element) && want == load(spec.element, tensors_[k].data(), i);
      if (!answer && !std::isnan(want)) missing.push_back(i);
    }
    if (missing.empty()) continue;
    return describe({.fault = Fault::not_written,
                     .tensor = spec.name,
                     .index = index_text(missing.front(), spec.dims),
                     .expected = element_text(spec, given.reference[k], missing.front(), true),
                     .got = "what was there before",
                     .note = unwritten(describe_wrong(missing, spec.dims))},
                    given);
  }
  return std::nullopt;
}

/// The first relation between outputs that does not hold.
std::optional<Failure> Trial::contradiction(const Given& given) const {
  if (!uses(Detector::relations)) return std::nullopt;
  for (const Relation& r : relations()) {
    if (r.op != op_.name) continue;
    const std::string where = r.broken(shape_, tensors_.pointers());
    if (!where.empty())
      return describe({.fault = Fault::relation, .note = where + "; the contract says: " + r.what}, given);
  }
  return std::nullopt;
}

Trial::Outcome Trial::run(const Given& given) {
  if (auto failure = execute(given)) {
    done_.clear();
    return {.failure = std::move(failure)};
  }
  Outcome outcome = judge(given);
  const auto done = std::exchange(done_, {});
  if (!outcome.failure) return outcome;
  if (done.empty() || execute(given) || judge(given).failure) {
    diagnose(*outcome.failure, given);
    return outcome;
  }
  // Right in poisoned outputs: wrong because of what it found, if it is so again, or only sometimes right.
  done_ = done;
  const bool again = execute(given) || judge(given).failure;
  done_.clear();
  outcome.failure->fault = again ? Fault::stale : Fault::nondeterministic;
  outcome.failure->note += again ? "; its results were there before the call, all but one element"
                                 : "; a second run of the same differs";
  return outcome;
}

std::optional<Failure> Trial::race(const Given& given) {
  prepare(given);
  auto failure = cpu_.race(runs_);
  if (failure) failure = describe(std::move(*failure), given);
  return failure;
}

void Trial::diagnose(Failure& failure, const Given& given) {
  if (failure.fault != Fault::wrong_value && failure.fault != Fault::non_finite &&
      failure.fault != Fault::not_written)
    return;
  const auto first = outputs();
  if (!before_change_.empty() && first == before_change_) {
    failure.fault = Fault::stale;
    failure.note += "; what it wrote is its answer of the call before, though " + change_ + " has changed";
    return;
  }
  if (failure.fault == Fault::not_written) {
    // NaN plus something is the same NaN: among finite numbers it shows who adds, and who writes now and then.
    poison_ = 0x41;
    const bool written = !execute(given) && !never_written(given);
    std::optional<Failure> other;
    if (written) other = judge(given).failure;
    poison_ = char(0xFF);
    // Poison is a whole number like any other, and a wrong answer may equal it.
    const auto spec = std::ranges::find(specs_, failure.tensor, &TensorSpec::name);
    if (other && spec != specs_.end() && is_integer(spec->element)) {
      failure = *other;
      return;
    }
    if (written && !other) {
      failure.note += "; at a second call of the same they are";
      return;
    }
    if (written) {
      failure.fault = Fault::non_finite;
      failure.got = "nan";
      failure.note = "it adds to what the output held before";
      return;
    }
    if (execute(given)) return;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (outputs() != first) {
    failure.fault = Fault::late;
    failure.note += "; its outputs change after it has returned";
    return;
  }
  if (execute(given)) return;
  if (outputs() != first) {
    // One that declares that its runs differ is not wrong for that: it is wrong beyond what any order can make.
    if (variant_.numerics.deterministic) failure.fault = Fault::nondeterministic;
    failure.note += variant_.numerics.deterministic
                        ? "; a second run of the same differs"
                        : "; a second run differs, too, but no order of the same operations is so far off: "
                          "updates are lost, or made twice";
    return;
  }
  // The old buffers live on, and these begin further in, so no address was seen before; alignment stays.
  std::vector<int64_t> elsewhere = offsets_;
  for (int64_t& offset : elsewhere) offset += 64;
  Trial fresh(op_, variant_, shape_, specs_, std::move(elsewhere), guard_, placement_);
  fresh.on_multiprocessors(multiprocessors_);
  fresh.with_threads(cpu_.threads());
  if (fresh.execute(given) || fresh.judge(given).failure) return;
  failure.fault = Fault::stale;
  failure.note += "; right in fresh buffers";
}

std::vector<std::vector<char>> Trial::outputs() const { return bytes_of_outputs(specs_, tensors_); }

std::optional<Failure> Trial::repeats(const std::vector<std::vector<char>>& earlier,
                                      const Given& given) const {
  size_t output = 0;
  for (size_t k = 0; k < specs_.size(); ++k) {
    const TensorSpec& spec = specs_[k];
    if (spec.role == Role::input) continue;
    const std::vector<char>& before = earlier[output++];
    const int64_t width = size_of(spec.element);
    const Tolerance allowed =
        tolerance(numerics_at(given.pattern), op_.terms(shape_), is_hard(given.pattern), spec.element);
    const Element wide = spec.element == Element::f32 ? Element::f64 : spec.element;
    for (int64_t i = 0, n = volume(spec.dims); i < n; ++i) {
      if (std::memcmp(before.data() + i * width, tensors_[k].as<char>() + i * width, size_t(width)) == 0)
        continue;
      const double was = load(spec.element, before.data(), i), is = load(spec.element, tensors_[k].data(), i);
      const double within =
          allowed.bound(load(wide, given.magnitude[k].data(), i), load(wide, given.reference[k].data(), i));
      const double bound = variant_.numerics.deterministic ? 0 : 2 * within;
      if (!variant_.numerics.deterministic && std::abs(is - was) <= bound) continue;
      return describe({.fault = Fault::nondeterministic,
                       .tensor = spec.name,
                       .index = index_text(i, spec.dims),
                       .expected = is_integer(spec.element) ? std::to_string(int64_t(was)) : digits(was),
                       .got = is_integer(spec.element) ? std::to_string(int64_t(is)) : digits(is),
                       .bound = is_integer(spec.element) ? "" : digits(bound),
                       .note = is_integer(spec.element) ? "two runs on the same inputs differ"
                               : std::abs(is - was) <= 2 * within
                                   ? "two runs on the same inputs differ, by what another order of the same "
                                     "operations can make; the variant declares that they do not"
                                   : "two runs on the same inputs differ, by more than any order of the same "
                                     "operations can make: updates are lost, or made twice"},
                      given);
    }
  }
  return std::nullopt;
}

Failure Trial::describe(Failure failure, const Given& given) const {
  failure.inputs = shape_text(op_, shape_) + ", " + name_of(given.pattern) + " inputs";
  bool aligned = true;
  std::string list;
  for (size_t k = 0; k < offsets_.size(); ++k) {
    aligned = aligned && offsets_[k] == 0;
    if (k) list += ',';
    list += std::to_string(offsets_[k]);
  }
  if (multiprocessors_ > 0 && variant_.backend == "cuda")
    failure.inputs += fmt::format(", on a device of {} multiprocessor{}", multiprocessors_,
                                  multiprocessors_ > 1 ? "s" : "");
  if (placement_ != GuardPlacement::fenced) failure.inputs += std::string(", ") + name_of(placement_);
  if (cpu_.threads() > 0 && variant_.backend == "cpu")
    failure.inputs += fmt::format(", {} thread{}", cpu_.threads(), cpu_.threads() > 1 ? "s" : "");
  if (!aligned && placement_ != GuardPlacement::to_page)
    failure.inputs += ", pointers " + list + " elements off alignment";
  return failure;
}

}  // namespace klab
