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
#include "harness/simt/block_turns.h"
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
    simt::reset_block_turns();
    try {
      variant_.bind(part_, given_to(variant_, specs, tensors.pointers()))();
    } catch (const std::exception&) {
      done = false;
    }
    const auto work = double(session.work());
    spent_ += work;
    measured_.push_back({double(largest_), work});
    turns_.push_back(simt::block_turns());
    return done;
  }

  double expected() const { return expected_at(double(whole_)); }
  double expected_at(double size) const { return measured_.empty() ? kNever : work_beyond(measured_, size); }
  double spent() const { return spent_; }
  size_t count() const { return measured_.size(); }

  int64_t whole() const { return whole_; }

  /// Returns the size at which simt::block_turns() reaches `turns`, on the line through the last two parts; infinite where that does not
  /// rise.
  double size_with_turns(double turns) const {
    if (turns_.empty()) return kNever;
    const double size = measured_.back().size, has = turns_.back();
    if (has >= turns) return size;
    if (turns_.size() == 1) return kNever;
    const double rise = (has - turns_[turns_.size() - 2]) / (size - measured_[measured_.size() - 2].size);
    return rise > 0 ? size + (turns - has) / rise : kNever;
  }

  /// Returns the shape with that size, or the next larger one that the variant supports; empty where there is none.
  std::vector<int64_t> shape_at(int64_t size) { return make_legal(size) ? part_ : std::vector<int64_t>(); }

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
  std::vector<double> turns_;  // simt::block_turns() at each of these
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

std::vector<int64_t> shape_with_many_blocks(const LabOp& op, const Variant& variant, ShapeView shape,
                                            double most, PartInputs& inputs) {
  constexpr double kTurns[] = {2.1, 1.1};
  constexpr double kFurthest = 32;  // times the last part: a grid grows in steps
  Parts parts(op, variant, shape, most, 0, inputs);
  for (const int64_t of : {16384, 4096, 1024, 256, 64, 16}) {
    const int64_t size = (parts.whole() + of - 1) / of;
    if (!parts.measure(size)) return {};
    for (const double turns : kTurns) {
      const double wanted = parts.size_with_turns(turns);
      if (wanted > kFurthest * double(size)) break;  // a longer part tells more
      if (wanted < double(parts.whole()) && parts.expected_at(wanted) <= most)
        return parts.shape_at(int64_t(wanted));
    }
  }
  return {};
}

}  // namespace klab
