#include "harness/records/packed_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace klab {
namespace {

constexpr int64_t kWidestGroup = 8;

/// Returns the bytes of a number of the types that are packed; 0 for others.
int64_t number_bytes(const std::string& dtype) {
  if (dtype == "F32") return 4;
  if (dtype == "F16" || dtype == "BF16") return 2;
  return dtype == "I8" ? 1 : 0;
}

int64_t numbers_in(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// Returns the shape of `kept` groups.
std::vector<int64_t> packed_shape(int64_t kept, int64_t group) {
  return group == 1 ? std::vector<int64_t>{kept} : std::vector<int64_t>{kept, group};
}

}  // namespace

int64_t group_of(const std::vector<int64_t>& shape) {
  return shape.size() == 2 && shape[1] >= 1 && shape[1] <= kWidestGroup ? shape[1] : 1;
}

int64_t prune_smallest(std::span<float> values, int64_t group, double share) {
  const int64_t groups = int64_t(values.size()) / group;
  const auto pruned = int64_t(share * double(groups));
  std::vector<double> squares(size_t(groups), 0.0);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t k = 0; k < group; ++k) {
      const auto v = double(values[size_t(g * group + k)]);
      squares[size_t(g)] += v * v;
    }
  std::vector<int64_t> order(static_cast<size_t>(groups));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto border = order.begin() + std::ptrdiff_t(pruned);
  std::nth_element(order.begin(), border, order.end(), [&](int64_t a, int64_t b) {
    const double left = squares[size_t(a)], right = squares[size_t(b)];
    return left != right ? left < right : a < b;
  });
  for (auto g = order.begin(); g != border; ++g)
    std::fill_n(values.begin() + std::ptrdiff_t(*g * group), group, 0.0F);
  return std::ranges::count(values, 0.0F);
}

PackedTensors::PackedTensors(std::span<const TensorView> tensors) {
  for (const TensorView& t : tensors) {
    const int64_t group = group_of(t.shape), bytes = number_bytes(t.dtype) * group;
    const int64_t groups = numbers_in(t.shape) / group;
    std::vector<uint8_t> bits(size_t((groups + 7) / 8), 0), numbers;
    const auto* from = static_cast<const uint8_t*>(t.data);
    int64_t kept = 0;
    for (int64_t g = 0; bytes > 0 && g < groups; ++g) {
      const uint8_t* at = from + g * bytes;
      if (std::all_of(at, at + bytes, [](uint8_t b) { return b == 0; })) continue;
      bits[size_t(g / 8)] |= uint8_t(1U << (g % 8));
      numbers.insert(numbers.end(), at, at + bytes);
      ++kept;
    }
    if (bytes == 0 || numbers.size() + bits.size() >= size_t(groups * bytes)) {
      views_.push_back(t);
      continue;
    }
    const uint8_t* const packed = data_.emplace_back(std::move(numbers)).data();
    views_.push_back({t.name, t.dtype, packed_shape(kept, group), packed});
    const uint8_t* const which = data_.emplace_back(std::move(bits)).data();
    views_.push_back({kept_bits_of(t.name), "U8", {(groups + 7) / 8}, which});
  }
}

bool is_packed(const TensorFile& file, const std::string& name) {
  const auto all = file.tensors();
  return std::ranges::find(all, kept_bits_of(name), &TensorView::name) != all.end();
}

void read_packed(const TensorFile& file, const std::string& name, const std::string& dtype,
                 const std::vector<int64_t>& shape, void* into) {
  const int64_t group = group_of(shape), bytes = number_bytes(dtype) * group;
  if (bytes == 0 || !is_packed(file, name)) return file.read(name, dtype, shape, into);
  const int64_t groups = numbers_in(shape) / group;
  std::vector<uint8_t> bits(size_t((groups + 7) / 8));
  file.read(kept_bits_of(name), "U8", {int64_t(bits.size())}, bits.data());
  int64_t kept = 0;
  for (const uint8_t b : bits) kept += std::popcount(b);
  if (groups % 8 != 0 && bits.back() >> (groups % 8) != 0)
    throw std::runtime_error(fmt::format("{}: tensor \"{}\" keeps numbers behind the last one: damaged",
                                         file.path().string(), kept_bits_of(name)));
  std::vector<uint8_t> numbers(size_t(kept * bytes));
  file.read(name, dtype, packed_shape(kept, group), numbers.data());
  auto* const to = static_cast<uint8_t*>(into);
  std::fill_n(to, groups * bytes, uint8_t{0});
  const uint8_t* at = numbers.data();
  for (int64_t g = 0; g < groups; ++g) {
    if ((bits[size_t(g / 8)] >> (g % 8) & 1) == 0) continue;
    std::memcpy(to + g * bytes, at, size_t(bytes));
    at += bytes;
  }
}

}  // namespace klab
