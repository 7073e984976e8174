#include "harness/timing/unseen_inputs.h"

#include <algorithm>
#include <cstring>

namespace klab {
namespace {

constexpr double kGoodPart = 1.0 / 16;  // of the bytes of all inputs
constexpr size_t kMost = 3;             // the largest

/// Whether any element may stand at any place: numbers that no contract arranges, and that no other tensor repeats.
bool is_plain(const TensorSpec& spec, const std::vector<TensorSpec>& specs) {
  const bool number = spec.element == Element::f32 || spec.element == Element::f16 ||
                      spec.element == Element::bf16 || spec.element == Element::i8;
  if (spec.role != Role::input || spec.draw == Draw::arranged || !number || spec.optional ||
      volume(spec.dims) < 2)
    return false;
  return std::ranges::none_of(
      specs, [&](const TensorSpec& other) { return other.optional && other.name.starts_with(spec.name); });
}

}  // namespace

UnseenInputs::UnseenInputs(const LabOp& op, ShapeView shape, BenchInputs& inputs) : inputs_(inputs) {
  const std::vector<TensorSpec> specs = op.op.tensors(shape);
  int64_t all = 0;
  for (const TensorSpec& s : specs)
    if (s.role == Role::input) all += volume(s.dims) * size_of(s.element);
  for (size_t k = 0; k < specs.size(); ++k) {
    const int64_t n = volume(specs[k].dims), width = size_of(specs[k].element);
    if (!is_plain(specs[k], specs) || double(n * width) < kGoodPart * double(all)) continue;
    const auto* begin = static_cast<const char*>(inputs.pointers(0)[k]);
    tensors_.push_back({k, n, width, {begin, begin + n * width}});
  }
  std::ranges::stable_sort(tensors_,
                           [](const Tensor& a, const Tensor& b) { return a.seen.size() > b.seen.size(); });
  if (tensors_.size() > kMost) tensors_.resize(kMost);
}

void UnseenInputs::write(int64_t which, uint64_t turn) {
  const Tensor& t = tensors_[size_t(which)];
  // A rotation: each turn another one, none of them the identity.
  const int64_t by = turn == 0 ? 0 : 1 + int64_t((turn * 0x9E3779B97F4A7C15) % uint64_t(t.elements - 1));
  auto* to = static_cast<char*>(inputs_.pointers(0)[t.index]);
  const int64_t head = by * t.width, rest = int64_t(t.seen.size()) - head;
  std::memcpy(to, t.seen.data() + head, size_t(rest));
  std::memcpy(to + rest, t.seen.data(), size_t(head));
}

}  // namespace klab
