#include "labs/radiance/field/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "reference/float16.h"
#include "reference/formats.h"

namespace klab {
namespace {

constexpr int kClips = 24;          // scales of a channel or block that are tried, ...
constexpr double kLeastClip = 0.5;  // ... from the one that fits the largest number down to this share of it
constexpr int kBins = 4096;         // bins of a channel's histogram

template <class T>
T element(const std::vector<uint8_t>& bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + size_t(i) * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void put(std::vector<uint8_t>& bytes, int64_t i, T value) {
  std::memcpy(bytes.data() + size_t(i) * sizeof(T), &value, sizeof(T));
}

double clip_at(int k) { return 1 - (1 - kLeastClip) * k / kClips; }

/// Chooses the scale of an int8 channel. Estimates the errors from a histogram: step²/12 within the range,
/// the square of what is cut off beyond it.
float channel_scale(std::span<const float> values, const Channel& c) {
  double most = 0;
  for (int64_t i = 0; i < c.count; ++i)
    most = std::max(most, std::fabs(double(values[size_t(c.first + i * c.stride)])));
  // All values are 0, or too small for a normal scale: any scale does.
  if (most < 0x1p-100) return 1;
  std::vector<int64_t> bins(kBins);
  for (int64_t i = 0; i < c.count; ++i) {
    const double share = std::fabs(double(values[size_t(c.first + i * c.stride)])) / most;
    ++bins[size_t(std::min<int64_t>(kBins - 1, int64_t(share * kBins)))];
  }
  double best = -1, best_error = 0;
  for (int k = 0; k < kClips; ++k) {
    const double end = most * clip_at(k), step = end / 127;
    double error = 0;
    for (int b = 0; b < kBins; ++b) {
      const double cut = (b + 0.5) / kBins * most - end;
      error += double(bins[size_t(b)]) * (cut > 0 ? cut * cut : step * step / 12);
    }
    if (best < 0 || error < best_error) best = step, best_error = error;
  }
  return float(best);
}

void encode_channels(std::span<const float> values, std::span<const Channel> channels, Encoded& out) {
#pragma omp parallel for schedule(dynamic)
  for (size_t c = 0; c < channels.size(); ++c) {
    const Channel& channel = channels[c];
    const float scale = channel_scale(values, channel);
    put(out.scales, int64_t(c), scale);
    for (int64_t i = 0; i < channel.count; ++i) {
      const auto at = size_t(channel.first + i * channel.stride);
      put(out.numbers, int64_t(at), std::max<int8_t>(-127, int8_from(double(values[at]) / double(scale))));
    }
  }
}

/// One block, padded with zeros.
struct Block {
  explicit Block(std::span<const float> values, int64_t b) {
    const int64_t begin = b * kScaleBlock;
    std::copy_n(values.begin() + begin, std::min(kScaleBlock, int64_t(values.size()) - begin), at.begin());
  }
  std::array<float, kScaleBlock> at{};
};

/// Rounds the block's numbers over a scale to integers, adds 8, and returns the sum of squared errors.
double to_int4(const Block& block, double scale, std::array<uint8_t, kScaleBlock>& q) {
  double error = 0;
  for (size_t i = 0; i < q.size(); ++i) {
    const double whole = std::clamp(std::nearbyint(double(block.at[i]) / scale), -8.0, 7.0);
    q[i] = uint8_t(int(whole) + 8);
    const double off = whole * scale - double(block.at[i]);
    error += off * off;
  }
  return error;
}

double to_e2m1(const Block& block, double scale, std::array<uint8_t, kScaleBlock>& q) {
  double error = 0;
  for (size_t i = 0; i < q.size(); ++i) {
    const uint32_t bits = encode(kE2m1, double(block.at[i]) / scale);
    q[i] = uint8_t(bits);
    const double off = decode(kE2m1, bits) * scale - double(block.at[i]);
    error += off * off;
  }
  return error;
}

void pack(const std::array<uint8_t, kScaleBlock>& q, std::vector<uint8_t>& numbers, int64_t block) {
  for (int64_t i = 0; i < kScaleBlock / 2; ++i)
    numbers[size_t(block * kScaleBlock / 2 + i)] =
        uint8_t(q[size_t(i)] | q[size_t(i + kScaleBlock / 2)] << 4);
}

void encode_int4(std::span<const float> values, Encoded& out) {
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks_of(int64_t(values.size())); ++b) {
    const Block block(values, b);
    double up = 0, down = 0;
    for (const float v : block.at) up = std::max(up, double(v)), down = std::max(down, -double(v));
    const double most = std::max(up / 7, down / 8);
    std::array<uint8_t, kScaleBlock> q{}, best{};
    uint16_t best_scale = half_from_float(1);
    double best_error = to_int4(block, 1, best);
    for (int k = 0; k < kClips; ++k) {
      const uint16_t scale = half_from_double(most * clip_at(k));
      if (scale == 0 || scale >= kHalfFormat.infinity) continue;
      if (const double error = to_int4(block, double(float_from_half(scale)), q); error < best_error)
        best_error = error, best = q, best_scale = scale;
    }
    put(out.scales, b, best_scale);
    pack(best, out.numbers, b);
  }
}

void encode_e2m1(std::span<const float> values, Encoded& out) {
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks_of(int64_t(values.size())); ++b) {
    const Block block(values, b);
    const int rule = scale_for(block.at);  // rounds a maximum between 6 and 8 times the scale down
    std::array<uint8_t, kScaleBlock> q{}, best{};
    int best_scale = rule;
    double best_error = to_e2m1(block, decode_scale(uint8_t(rule)), best);
    for (const int scale : {rule - 1, rule + 1}) {
      if (scale < 0 || scale > 254) continue;
      if (const double error = to_e2m1(block, decode_scale(uint8_t(scale)), q); error < best_error)
        best_error = error, best = q, best_scale = scale;
    }
    out.scales[size_t(b)] = uint8_t(best_scale);
    pack(best, out.numbers, b);
  }
}

double scale_of_block(Storage storage, const Encoded& encoded, int64_t b) {
  return storage == Storage::int4 ? double(float_from_half(element<uint16_t>(encoded.scales, b)))
                                  : decode_scale(encoded.scales[size_t(b)]);
}

void decode_blocks(Storage storage, const Encoded& encoded, std::span<float> values) {
  const auto n = int64_t(values.size());
  std::array<double, 16> value{};
  for (uint32_t bits = 0; bits < 16; ++bits)
    value[bits] = storage == Storage::int4 ? double(bits) - 8 : decode(kE2m1, bits);
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks_of(n); ++b) {
    const double scale = scale_of_block(storage, encoded, b);
    for (int64_t i = 0; i < kScaleBlock && b * kScaleBlock + i < n; ++i) {
      const uint8_t both = encoded.numbers[size_t(b * kScaleBlock / 2 + i % (kScaleBlock / 2))];
      values[size_t(b * kScaleBlock + i)] =
          float(value[i < kScaleBlock / 2 ? both & 15U : both >> 4U] * scale);
    }
  }
}

}  // namespace

const char* name_of(Storage storage) {
  constexpr std::array names = {"f32", "f16", "bf16", "int8", "int4", "e2m1"};
  return names[size_t(storage)];
}

std::string storage_names() {
  std::string text;
  for (const Storage s : kStorages) text += (text.empty() ? "" : ", ") + std::string(name_of(s));
  return text;
}

Storage storage_named(const std::string& name) {
  for (const Storage s : kStorages)
    if (name == name_of(s)) return s;
  throw std::invalid_argument(fmt::format("no way to store a model is called \"{}\"; there are {}",
                                          name.substr(0, 40), storage_names()));
}

int64_t stored_bytes(int64_t n, Storage storage) {
  constexpr std::array each = {4, 2, 2, 1};
  return size_t(storage) < each.size() ? n * each[size_t(storage)] : blocks_of(n) * kScaleBlock / 2;
}

int64_t scale_bytes(int64_t n, int64_t channels, Storage storage) {
  if (storage == Storage::int8) return 4 * channels;
  if (storage == Storage::int4) return 2 * blocks_of(n);
  return storage == Storage::e2m1 ? blocks_of(n) : 0;
}

Encoded encode_numbers(Storage storage, std::span<const float> values, std::span<const Channel> channels) {
  const auto n = int64_t(values.size());
  Encoded out;
  out.numbers.resize(size_t(stored_bytes(n, storage)));
  out.scales.resize(size_t(scale_bytes(n, int64_t(channels.size()), storage)));
  switch (storage) {
    case Storage::f32:
      throw std::logic_error("floats are stored as they are");
    case Storage::f16:
      for (int64_t i = 0; i < n; ++i) put(out.numbers, i, half_from_float(values[size_t(i)]));
      break;
    case Storage::bf16:
      for (int64_t i = 0; i < n; ++i) put(out.numbers, i, bfloat16_from_float(values[size_t(i)]));
      break;
    case Storage::int8:
      encode_channels(values, channels, out);
      break;
    case Storage::int4:
      encode_int4(values, out);
      break;
    case Storage::e2m1:
      encode_e2m1(values, out);
      break;
  }
  return out;
}

void decode_numbers(Storage storage, const Encoded& encoded, std::span<const Channel> channels,
                    std::span<float> values) {
  const auto n = int64_t(values.size());
  switch (storage) {
    case Storage::f32:
      throw std::logic_error("floats are stored as they are");
    case Storage::f16:
      for (int64_t i = 0; i < n; ++i)
        values[size_t(i)] = float_from_half(element<uint16_t>(encoded.numbers, i));
      break;
    case Storage::bf16:
      for (int64_t i = 0; i < n; ++i)
        values[size_t(i)] = float_from_bfloat16(element<uint16_t>(encoded.numbers, i));
      break;
    case Storage::int8:
      for (size_t c = 0; c < channels.size(); ++c) {
        const auto scale = element<float>(encoded.scales, int64_t(c));
        for (int64_t i = 0; i < channels[c].count; ++i) {
          const int64_t at = channels[c].first + i * channels[c].stride;
          values[size_t(at)] = float(int8_t(encoded.numbers[size_t(at)])) * scale;
        }
      }
      break;
    case Storage::int4:
    case Storage::e2m1:
      decode_blocks(storage, encoded, values);
      break;
  }
}

int64_t first_bad_scale(Storage storage, const Encoded& encoded) {
  const auto bad = [](double scale) { return !std::isfinite(scale) || !(scale > 0); };
  if (storage == Storage::int8) {
    for (int64_t c = 0; c < int64_t(encoded.scales.size() / sizeof(float)); ++c)
      if (bad(double(element<float>(encoded.scales, c)))) return c;
  } else if (storage == Storage::int4 || storage == Storage::e2m1) {
    const auto size = int64_t(storage == Storage::int4 ? 2 : 1);
    for (int64_t b = 0; b < int64_t(encoded.scales.size()) / size; ++b)
      if (bad(scale_of_block(storage, encoded, b))) return b;
  }
  return -1;
}

}  // namespace klab
