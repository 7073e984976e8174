#include "harness/check/gradient_pair.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "harness/check/cases.h"
#include "harness/core/element.h"
#include "harness/core/fill.h"

namespace klab {
namespace {

constexpr size_t kNone = ~size_t{0};

size_t position(const std::vector<TensorSpec>& specs, const std::string& name) {
  for (size_t k = 0; k < specs.size(); ++k)
    if (specs[k].name == name) return k;
  return kNone;
}

// Sets a tensor to zero whatever its type.
void clear(Buffer& buffer) {
  if (buffer.bytes() > 0) std::memset(buffer.data(), 0, size_t(buffer.bytes()));
}

void copy(const Buffer& from, Buffer& to) {
  if (from.bytes() > 0) std::memcpy(to.data(), from.data(), size_t(from.bytes()));
}

const LabOp& forward_of(const LabOp& backward) {
  const LabOp* forward = find_op(backward.op.forward);
  if (!forward)
    throw std::invalid_argument(backward.op.name + " is the backward of " + backward.op.forward +
                                ", which no lab teaches: list it next to " + backward.op.name);
  return *forward;
}

std::vector<int64_t> shape_by_name(const Op& from, ShapeView shape, const Op& to) {
  std::vector<int64_t> result;
  for (const std::string& dim : to.dims) {
    const auto at = std::ranges::find(from.dims, dim);
    if (at == from.dims.end())
      throw std::invalid_argument(from.name + " has no dimension '" + dim + "' of its forward " + to.name);
    const auto d = size_t(at - from.dims.begin());
    result.push_back(d < shape.size() ? shape[d] : 0);
  }
  return result;
}

}  // namespace

GradientPair::GradientPair(const LabOp& op, ShapeView shape)
    : forward(&forward_of(op)), backward(&op), backward_shape(shape.begin(), shape.end()) {
  forward_shape = shape_by_name(op.op, shape, forward->op);
  forward_specs = forward->op.tensors(forward_shape);
  backward_specs = op.op.tensors(backward_shape);
  for (size_t k = 0; k < forward_specs.size(); ++k) {
    const TensorSpec& spec = forward_specs[k];
    const size_t same = position(backward_specs, spec.name),
                 slope = position(backward_specs, "d_" + spec.name);
    const bool taken = same != kNone && backward_specs[same].role == Role::input;
    for (const size_t other : {same, slope})
      if (other != kNone && volume(backward_specs[other].dims) != volume(spec.dims))
        throw std::invalid_argument(op.op.name + ": tensor " + backward_specs[other].name +
                                    " has another size than " + spec.name + " of " + forward->op.name);
    if (spec.role == Role::input) {
      if (taken) inputs.push_back({k, same});
      if (slope != kNone && backward_specs[slope].role != Role::input && spec.element == Element::f32)
        gradients.push_back({k, slope});
    } else {
      if (taken) saved.push_back({k, same});
      if (slope != kNone && backward_specs[slope].role == Role::input) upstream.push_back({k, slope});
    }
  }
  if (gradients.empty())
    throw std::invalid_argument(op.op.name + " has no output named d_<input> for an f32 input of " +
                                forward->op.name);
}

GradientPoint::GradientPoint(const GradientPair& pair, Generator& random)
    : forward(pair.forward_specs, Tensors::View::variant),
      backward(pair.backward_specs, Tensors::View::variant),
      pair_(pair) {
  fill(pair.forward->op, pair.forward_shape, pair.forward_specs, forward.pointers(), Pattern::random, 1,
       random);
  Op plain = pair.backward->op;  // its inputs are arranged only once they are those of the forward
  plain.arrange = nullptr;
  fill(plain, pair.backward_shape, pair.backward_specs, backward.pointers(), Pattern::random, 1, random);
  for (const auto& link : pair.inputs) copy(forward[link.forward], backward[link.backward]);
  if (pair.backward->op.arrange) pair.backward->op.arrange(pair.backward_shape, backward.pointers(), random);
  for (const auto& link : pair.inputs) copy(backward[link.backward], forward[link.forward]);
  for (size_t k = 0; k < forward.size(); ++k)
    if (pair.forward_specs[k].role != Role::input) clear(forward[k]);
  for (size_t k = 0; k < backward.size(); ++k)
    if (pair.backward_specs[k].role != Role::input) clear(backward[k]);
  if (pair.saved.empty()) return;
  DoubleRun run(*pair.forward, pair.forward_shape, pair.forward_specs);
  run.take(forward);
  run.run();
  for (const auto& link : pair.saved) {
    const TensorSpec& spec = pair.forward_specs[link.forward];
    const Element wide = spec.element == Element::f32 ? Element::f64 : spec.element;
    for (int64_t i = 0, n = volume(spec.dims); i < n; ++i)
      store(spec.element, backward[link.backward].data(), i, load(wide, run.values[link.forward].data(), i));
  }
}

double GradientPoint::weight(size_t k, int64_t i) const {
  if (pair_.forward_specs[k].role == Role::input) return 0;
  if (pair_.upstream.empty()) return 1;
  for (const auto& link : pair_.upstream)
    if (link.forward == k)
      return load(pair_.backward_specs[link.backward].element, backward[link.backward].data(), i);
  return 0;
}

DoubleRun::DoubleRun(const LabOp& op, std::vector<int64_t> shape, const std::vector<TensorSpec>& specs)
    : values(specs, Tensors::View::reference),
      magnitudes(specs, Tensors::View::reference),
      op_(op),
      shape_(std::move(shape)),
      specs_(specs) {}

void DoubleRun::take(const Tensors& inputs) { copy_given(specs_, inputs, values); }

void DoubleRun::run() {
  for (size_t k = 0; k < specs_.size(); ++k) {
    if (specs_[k].role == Role::input) continue;
    if (specs_[k].role == Role::output) values[k].poison();
    if (specs_[k].role == Role::accumulate) clear(values[k]);
    clear(magnitudes[k]);
  }
  op_.op.reference(shape_, values.pointers(), magnitudes.pointers());
}

}  // namespace klab
