#include "harness/check/pace.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "harness/check/check.h"
#include "harness/core/buffers.h"
#include "harness/core/fill.h"
#include "harness/core/registry.h"
#include "harness/simt/session.h"
#include "reference/generator.h"

namespace klab {

namespace {

// A part that takes more than one of this many parts of what is allowed is hopeless.
constexpr double kPart = 4;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Measures one variant at parts of one shape.
class Parts {
 public:
  Parts(const LabOp& op, const Variant& variant, ShapeView shape, double most, int multiprocessors,
        PartInputs& inputs)
      : op_(op),
        inputs_(inputs),
        variant_(variant),
        part_(shape.begin(), shape.end()),
        largest_(*std::ranges::max_element(part_)),
        whole_(largest_),
        most_(most),
        multiprocessors_(multiprocessors) {}

  /// Measures at the smallest supported size of at least `size` that is larger than those before; false where it fails.
  bool measure(int64_t size) {
    if (!measured_.empty()) size = std::max(size, int64_t(measured_.back().size) + 1);
    if (!make_legal(size)) return true;
    const auto specs = op_.op.tensors(part_);
    Tensors tensors(specs, Tensors::View::variant);
    inputs_.copy_to(part_, specs, tensors);
    constexpr uint64_t kSteps = 1'000'000;  // of one block
    simt::Session session({.traced = false,
                           .counts = false,
                           .step_limit = kSteps,
                           .work_limit = std::max<uint64_t>(uint64_t(most_ / kPart), 1),
                           .multiprocessors = multiprocessors_});
    bool done = true;
    try {
      variant_.bind(part_, given_to(variant_, specs, tensors.pointers()))();
    } catch (const std::exception&) {
      done = false;
    }
    const auto work = double(session.work());
    spent_ += work;
    measured_.push_back({double(largest_), work});
    return done;
  }

  double expected() const { return measured_.empty() ? kNever : work_beyond(measured_, double(whole_)); }
  double spent() const { return spent_; }
  size_t count() const { return measured_.size(); }

  int64_t whole() const { return whole_; }

 private:
  /// Sets the largest dimension to the next size from `size` on that the variant supports, below the whole.
  bool make_legal(int64_t size) {
    constexpr int64_t kTried = 256;  // contracts and variants ask for multiples of up to that
    for (largest_ = size; largest_ < std::min(whole_, size + kTried); ++largest_)
      if (op_.op.valid(part_) && variant_.supported(part_, host_of(variant_)).empty()) return true;
    return false;
  }

  const LabOp& op_;
  PartInputs& inputs_;
  const Variant& variant_;
  std::vector<int64_t> part_;
  int64_t& largest_;  // of part_
  const int64_t whole_;
  const double most_;
  const int multiprocessors_;
  std::vector<WorkAtSize> measured_;
  double spent_ = 0;
};

}  // namespace

void PartInputs::copy_to(ShapeView part, const std::vector<TensorSpec>& specs, Tensors& tensors) {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> key(part.begin(), part.end());
  auto at = drawn_.find(key);
  if (at == drawn_.end()) {
    at = drawn_.emplace(std::move(key), Tensors(specs, Tensors::View::variant)).first;
    Generator random(1);
    fill(op_.op, part, specs, at->second.pointers(), Pattern::random, op_.huge, random);
  }
  copy_given(specs, at->second, tensors);
}

double work_beyond(std::span<const WorkAtSize> measured, double size) {
  if (measured.empty()) return 0;
  const WorkAtSize& last = measured.back();
  if (measured.size() == 1) return last.work * size / last.size;
  const WorkAtSize& before = measured[measured.size() - 2];
  const double slope = std::max(0.0, (last.work - before.work) / (last.size - before.size));
  const double linear = last.work + slope * (size - last.size);
  const double grown = last.work / std::max(1.0, before.work), larger = last.size / before.size;
  if (grown <= larger) return linear;
  return std::max(linear, last.work * std::pow(size / last.size, std::log(grown) / std::log(larger)));
}

HostWork expected_host_work(const LabOp& op, const Variant& variant, ShapeView shape, double most,
                            int multiprocessors, PartInputs& inputs) {
  constexpr double kFar = 4;
  Parts parts(op, variant, shape, most, multiprocessors, inputs);
  // A small part costs little, and tells already where the whole would cost far too much; a larger one tells exactly.
  for (const int64_t of : {16384, 1024, 64, 8}) {
    if (!parts.measure((parts.whole() + of - 1) / of)) return {kNever, parts.spent()};
    if (parts.count() > 1 && parts.expected() > kFar * most) break;
  }
  return {parts.expected(), parts.spent()};
}

}  // namespace klab
