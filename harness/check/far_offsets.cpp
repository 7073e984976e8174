#include "harness/check/far_offsets.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "harness/check/cases.h"
#include "harness/check/compare.h"
#include "harness/check/detectors.h"
#include "harness/check/drawn_cases.h"
#include "harness/core/buffers.h"
#include "harness/core/fill.h"
#include "harness/core/registry.h"
#include "harness/simt/session.h"
#include "reference/far_shapes.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr int64_t kFarBytes = int64_t{1} << 26;  // inputs from that size on are made of repeated pages
constexpr int64_t kFarPeriod = 509 * 1024;       // elements; a prime number of pages, so not a factor of 2^31
constexpr int64_t kFarBefore = int64_t{1} << 33;  // bytes before a variant's tensor
constexpr uint64_t kFarSteps = 10'000'000;        // of one block

/// Read-only memory in which the bytes of one period follow each other again and again.
class RepeatedPages {
 public:
  /// Makes `before` bytes and more in front of begin(), and `bytes` behind. Throws std::runtime_error where there is no room.
  RepeatedPages(const void* period, int64_t period_bytes, int64_t before, int64_t bytes) {
    const auto rounded = [&](int64_t n) { return (n + period_bytes - 1) / period_bytes * period_bytes; };
    size_ = size_t(rounded(before) + rounded(bytes));
    const int file = memfd_create("klab far input", MFD_CLOEXEC);
    if (file < 0) throw std::runtime_error("memfd_create fails");
    const bool kept = write(file, period, size_t(period_bytes)) == period_bytes;
    begin_ = kept ? mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                  : MAP_FAILED;
    bool mapped = begin_ != MAP_FAILED;
    for (size_t at = 0; mapped && at < size_; at += size_t(period_bytes))
      mapped = mmap(static_cast<char*>(begin_) + at, size_t(period_bytes), PROT_READ, MAP_SHARED | MAP_FIXED,
                    file, 0) != MAP_FAILED;
    close(file);
    if (!mapped) {
      if (begin_ != MAP_FAILED) munmap(begin_, size_);
      throw std::runtime_error(fmt::format("{} GB of address space cannot be reserved", size_ >> 30));
    }
    front_ = rounded(before);
  }
  ~RepeatedPages() { munmap(begin_, size_); }
  RepeatedPages(const RepeatedPages&) = delete;
  RepeatedPages& operator=(const RepeatedPages&) = delete;

  void* begin() const { return static_cast<char*>(begin_) + front_; }

 private:
  void* begin_ = nullptr;
  size_t size_ = 0;
  int64_t front_ = 0;
};

bool is_far(const TensorSpec& spec) {
  return spec.role == Role::input && spec.element == Element::f32 &&
         volume(spec.dims) * size_of(spec.element) >= kFarBytes;
}

/// The inputs of one far shape and the reference's answer.
class FarCase {
 public:
  FarCase(const LabOp& op, const std::vector<int64_t>& shape, const CheckOptions& options)
      : op_(op),
        shape_(shape),
        specs_(op.op.tensors(shape)),
        near_(without_far(specs_)),
        inputs_(near_, Tensors::View::variant),
        reference_(near_, Tensors::View::reference),
        magnitude_(near_, Tensors::View::reference) {
    Generator random = generator_of(options, shape.size());
    fill(op.op, shape, near_, inputs_.pointers(), Pattern::wide, op.huge, random);
    copy_given(near_, inputs_, reference_);
    poison_outputs(near_, reference_);
    for (size_t k = 0; k < magnitude_.size(); ++k)
      if (magnitude_[k].bytes() > 0) std::memset(magnitude_[k].data(), 0, size_t(magnitude_[k].bytes()));
    std::vector<void*> wide = pointers_of(reference_);
    std::vector<std::unique_ptr<RepeatedPages>> doubles;  // only the reference reads them
    for (size_t k = 0; k < specs_.size(); ++k) {
      far_.push_back(nullptr);
      if (!is_far(specs_[k])) continue;
      std::vector<float> period(size_t{kFarPeriod});
      std::normal_distribution<float> normal;
      for (float& v : period) v = normal(random);
      const std::vector<double> widened(period.begin(), period.end());
      const int64_t count = volume(specs_[k].dims);
      far_.back() = std::make_unique<RepeatedPages>(period.data(), kFarPeriod * 4, kFarBefore, count * 4);
      doubles.push_back(std::make_unique<RepeatedPages>(widened.data(), kFarPeriod * 8, 0, count * 8));
      wide[k] = doubles.back()->begin();
    }
    op.op.reference(shape, wide, magnitude_.pointers());
  }

  /// Runs the variant once, and returns what is wrong.
  std::optional<Failure> run(const Variant& variant) const {
    Tensors tensors(near_, Tensors::View::variant);
    copy_given(near_, inputs_, tensors);
    poison_outputs(near_, tensors);
    std::vector<void*> pointers = pointers_of(tensors);
    for (size_t k = 0; k < far_.size(); ++k)
      if (far_[k]) pointers[k] = far_[k]->begin();
    simt::Session session({.traced = false, .counts = false, .step_limit = kFarSteps});
    try {
      variant.bind(shape_, given_to(variant, specs_, pointers))();
    } catch (const std::exception& e) {
      return described({.fault = Fault::threw, .note = e.what()});
    }
    for (size_t k = 0; k < near_.size(); ++k) {
      if (near_[k].role == Role::input) continue;
      Tolerance allowed =
          tolerance(variant.numerics, op_.op.terms(shape_), is_hard(Pattern::wide), near_[k].element);
      allowed.zeros_alike = op_.op.zeros_alike;
      Comparison compared = compare(near_[k], tensors[k], reference_[k], magnitude_[k], allowed);
      if (compared.failure) return described(std::move(*compared.failure));
    }
    return std::nullopt;
  }

 private:
  static std::vector<TensorSpec> without_far(std::vector<TensorSpec> specs) {
    for (TensorSpec& spec : specs)
      if (is_far(spec)) spec.dims = {0};
    return specs;
  }
  static std::vector<void*> pointers_of(const Tensors& tensors) {
    const auto all = tensors.pointers();
    return {all.begin(), all.end()};
  }
  Failure described(Failure failure) const {
    failure.inputs = shape_text(op_.op, shape_) + ", inputs that reach beyond 2^31 bytes";
    return failure;
  }

  const LabOp& op_;
  const std::vector<int64_t>& shape_;
  std::vector<TensorSpec> specs_, near_;  // the latter without the inputs that are far
  Tensors inputs_, reference_, magnitude_;
  std::vector<std::unique_ptr<RepeatedPages>> far_;  // null where a tensor is not
};

}  // namespace

void check_far_offsets(const LabOp& op, std::span<const VariantResult> list, const CheckOptions& options,
                       CrashGuard& guard) {
  if (list.empty() || !uses(Detector::far_offsets)) return;
  for (const FarShape& far : far_shapes()) {
    if (far.op != op.op.name || (options.stop && options.stop())) continue;
    if (options.at) options.at(far.shape);
    guard.doing("running the reference of " + op.op.name + " at " + shape_text(op.op, far.shape));
    std::unique_ptr<FarCase> one;
    try {
      one = std::make_unique<FarCase>(op, far.shape, options);
    } catch (const std::runtime_error& e) {
      for (const VariantResult& v : list)
        v.result->note += fmt::format("{}offsets beyond 2^31 bytes were not tried: {}",
                                      v.result->note.empty() ? "" : "; ", e.what());
      return;
    }
    for (const auto& [variant, result] : list) {
      if (variant->backend != "cpu" || !variant->supported(far.shape, host_of(*variant)).empty()) continue;
      guard.doing("checking " + variant->id + " at " + shape_text(op.op, far.shape));
      ++result->cases;
      if (auto failure = one->run(*variant)) result->failures.push_back(std::move(*failure));
    }
  }
}

}  // namespace klab
