#include "harness/timing/other_patterns.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>

#include "harness/check/drawn_cases.h"
#include "harness/check/failure_text.h"
#include "harness/check/trial.h"
#include "harness/core/element.h"
#include "harness/core/fill.h"
#include "harness/timing/machine.h"
#include "reference/generator.h"

namespace klab {
namespace {

using Bytes = std::vector<std::vector<char>>;

class Patterns {
 public:
  Patterns(const LabOp& op, ShapeView shape, std::span<const Variant* const> variants,
           const OtherPatterns& options)
      : op_(op),
        shape_(shape.begin(), shape.end()),
        variants_(variants),
        options_(options),
        specs_(op.op.tensors(shape_)),
        given_(specs_, Tensors::View::variant),
        work_(specs_, Tensors::View::variant),
        wrong_(variants.size()) {
    for (const Variant* v : variants)
      calls_.push_back(v->bind(shape_, given_to(*v, specs_, work_.pointers())));
  }

  std::vector<std::string> run() {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<Pattern> patterns;
    for (const Pattern p : kPatterns)
      if (p != Pattern::random) patterns.push_back(p);
    std::rotate(patterns.begin(), patterns.begin() + std::ptrdiff_t(options_.seed % patterns.size()),
                patterns.end());
    for (const Pattern p : patterns) {
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > options_.seconds)
        break;
      if (options_.stop && options_.stop()) break;
      try_one(p);
    }
    return std::move(wrong_);
  }

 private:
  void try_one(Pattern pattern) {
    Generator random(options_.seed * 7919 + uint64_t(pattern));
    fill(op_.op, shape_, specs_, given_.pointers(), pattern, op_.huge, random);
    // Outputs may be large: only the first answer is kept.
    std::optional<Bytes> first;
    bool differ = options_.reference, any = false;
    for (size_t i = 0; i < variants_.size(); ++i) {
      if (!wrong_[i].empty()) continue;
      auto answer = answer_of(i);
      differ = differ || !answer || (any && !alike(*first, *answer));
      if (!any) first = std::move(answer);
      any = true;
      if (differ) break;
    }
    if (differ) ask_reference(pattern);
  }

  /// Returns nothing if the call threw: the reference's trial names what it was.
  std::optional<Bytes> answer_of(size_t i) {
    copy_given(specs_, given_, work_);
    poison_outputs(specs_, work_);
    try {
      calls_[i]();
    } catch (const std::exception&) {
      return std::nullopt;
    }
    Bytes bytes;
    for (size_t k = 0; k < specs_.size(); ++k)
      if (specs_[k].role != Role::input)
        bytes.emplace_back(work_[k].as<char>(), work_[k].as<char>() + work_[k].bytes());
    return bytes;
  }

  /// Two right answers differ by roundings, and where terms cancel by more: then the reference is asked in vain.
  bool alike(const Bytes& a, const Bytes& b) const {
    constexpr double kAlike = 1e-3;
    size_t output = 0;
    for (const TensorSpec& s : specs_) {
      if (s.role == Role::input) continue;
      const std::vector<char>&x = a[output], &y = b[output];
      ++output;
      const int64_t n = int64_t(x.size()) / size_of(s.element);
      double usual = 0;
      for (int64_t i = 0; i < n; ++i)
        if (const double v = std::abs(load(s.element, x.data(), i)); std::isfinite(v)) usual += v / double(n);
      for (int64_t i = 0; i < n; ++i) {
        const double p = load(s.element, x.data(), i), q = load(s.element, y.data(), i);
        const bool same = p == q || (std::isnan(p) && std::isnan(q)) ||
                          std::abs(p - q) <= kAlike * std::max({std::abs(p), std::abs(q), usual});
        if (!same) return false;
      }
    }
    return true;
  }

  void ask_reference(Pattern pattern) {
    Generator random(options_.seed * 7919 + uint64_t(pattern));
    const Given given = make_given(op_, shape_, specs_, pattern, random, kAsDrawn);
    CrashGuard guard;
    for (size_t i = 0; i < variants_.size(); ++i) {
      if (!wrong_[i].empty()) continue;
      Trial trial(op_.op, *variants_[i], shape_, specs_, std::vector<int64_t>(specs_.size(), 0), guard);
      if (const auto outcome = trial.run(given); outcome.failure) wrong_[i] = failure_text(*outcome.failure);
    }
  }

  const LabOp& op_;
  const std::vector<int64_t> shape_;
  std::span<const Variant* const> variants_;
  const OtherPatterns& options_;
  const std::vector<TensorSpec> specs_;
  Tensors given_, work_;
  std::vector<std::function<void()>> calls_;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> try_other_patterns(const LabOp& op, ShapeView shape,
                                            std::span<const Variant* const> variants,
                                            const OtherPatterns& options) {
  int64_t bytes = 0;
  for (const TensorSpec& s : op.op.tensors(shape)) bytes += volume(s.dims) * size_of(s.element);
  constexpr int64_t kSets = 4;  // inputs, operands, and two answers
  if (variants.empty() || kSets * bytes > free_memory()) return std::vector<std::string>(variants.size());
  return Patterns(op, shape, variants, options).run();
}

}  // namespace klab
