#include "harness/timing/contents.h"

#include <algorithm>
#include <cmath>

#include "harness/check/trial.h"
#include "harness/core/element.h"

namespace klab {
namespace {

constexpr int kTries = 6;
constexpr int kLooks = 16;          // elements, of which the largest is changed
constexpr size_t kMostPlaces = 64;  // outputs that are compared
constexpr double kVisible = 1e-3;   // of the larger of two answers, or of what is usual in the tensor

/// Returns a different value of the same sign and range, so that no kink is crossed and coordinates stay valid.
float other_than(float value, bool unit) {
  if (unit || std::abs(value) > 3) return std::abs(value) < 0.5F ? 2 * value : value / 2;
  return 4 * value;
}

/// Returns the mean absolute value of what is finite. An output that is small compared with it is not used: there the rounding of a
/// sum over everything shows as much as an element does.
double usual_size(Element element, const std::vector<char>& values) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < int64_t(values.size()) / size_of(element); ++i)
    if (const double v = std::abs(load(element, values.data(), i)); std::isfinite(v)) sum += v, ++count;
  return count > 0 ? sum / double(count) : 0;
}

}  // namespace

Contents::Contents(const LabOp& op, ShapeView shape, BenchInputs& inputs, uint64_t seed)
    : specs_(op.op.tensors(shape)), inputs_(inputs), random_(seed * 2862933555777941757U + 3037000493U) {}

double Contents::output(int64_t copy, size_t tensor, int64_t index) const {
  return load(specs_[tensor].element, inputs_.pointers(copy)[tensor], index);
}

void Contents::set(int64_t copy, float value) {
  static_cast<float*>(inputs_.pointers(copy)[element_.tensor])[element_.index] = value;
}

bool Contents::choose() {
  std::vector<size_t> free;
  for (size_t k = 0; k < specs_.size(); ++k)
    if (is_free(specs_[k], specs_)) free.push_back(k);
  if (free.empty()) return false;
  const auto next = [this] {
    return (random_ = random_ * 6364136223846793005U + 1442695040888963407U) >> 33;
  };
  element_.tensor = free[next() % free.size()];
  const auto n = uint64_t(volume(specs_[element_.tensor].dims));
  const auto* values = static_cast<const float*>(inputs_.pointers(0)[element_.tensor]);
  element_.index = int64_t(next() % n);
  for (int look = 1; look < kLooks; ++look)
    if (const auto i = int64_t(next() % n); std::abs(values[i]) > std::abs(values[element_.index]))
      element_.index = i;
  element_.values[0] = values[element_.index];
  element_.values[1] = other_than(element_.values[0], specs_[element_.tensor].draw == Draw::unit);
  return element_.values[0] != 0;
}

std::vector<std::vector<char>> Contents::outputs_of(const std::function<void()>& call, int content) {
  set(0, element_.values[content]);
  inputs_.reset(0);
  call();
  std::vector<std::vector<char>> list(specs_.size());
  for (size_t k = 0; k < specs_.size(); ++k) {
    if (specs_[k].role == Role::input) continue;
    const char* begin = static_cast<const char*>(inputs_.pointers(0)[k]);
    list[k].assign(begin, begin + volume(specs_[k].dims) * size_of(specs_[k].element));
  }
  return list;
}

bool Contents::learn(const std::function<void()>& call) {
  for (int attempt = 0; attempt < kTries && !known(); ++attempt) {
    if (!choose()) continue;
    const auto was = outputs_of(call, 0), is = outputs_of(call, 1);
    set(0, element_.values[0]);
    for (size_t k = 0; k < specs_.size(); ++k) {
      const auto width = size_t(size_of(specs_[k].element));
      const double usual = usual_size(specs_[k].element, was[k]);
      for (size_t i = 0; i * width < was[k].size() && places_.size() < 16 * kMostPlaces; ++i) {
        const double a = load(specs_[k].element, was[k].data(), int64_t(i));
        const double b = load(specs_[k].element, is[k].data(), int64_t(i));
        const Place place{
            k, int64_t(i), {a, b}, std::abs(a - b) / std::max({std::abs(a), std::abs(b), usual})};
        if (place.share > kVisible) places_.push_back(place);
      }
    }
  }
  const auto share = [](const Place& p) { return p.share; };
  std::ranges::stable_sort(places_, [&](const Place& x, const Place& y) { return share(x) > share(y); });
  if (places_.size() > kMostPlaces) places_.resize(kMostPlaces);
  return known();
}

void Contents::put(int content) {
  if (!known()) return;
  for (int64_t copy = 0; copy < inputs_.copies(); ++copy) set(copy, element_.values[content]);
  now_ = content;
}

void Contents::touch(int64_t copy) {
  if (!known()) return;
  // Close to the other content, so that an answer to it is none to the present one; smaller, and of its sign, so that no
  // border of a range is crossed.
  constexpr unsigned kValues = 512;
  fresh_ = (fresh_ + 1) % kValues;
  set(copy, element_.values[1 - now_] * (1 - float(fresh_ + 1) * 0x1p-12F));
}

void Contents::restore(int64_t copy) {
  if (known()) set(copy, element_.values[now_]);
}

bool Contents::answered(int64_t copy) const {
  size_t right = 0;
  for (const Place& p : places_) {
    const double value = output(copy, p.tensor, p.index);
    right += std::abs(value - p.answers[now_]) < std::abs(value - p.answers[1 - now_]) ? 1 : 0;
  }
  return 2 * right >= places_.size();
}

}  // namespace klab
