// Encodes numbers in few bits and decodes them: the formats of stored.h for one array.
//
// Scales are calibrated: several candidates clip the largest numbers more or less, and the one with the least
// sum of squared errors is chosen (M. Nagel et al., "A white paper on neural network quantization", 2021,
// section 3.1, range setting by mean squared error).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace klab {

enum class Storage { f32, f16, bf16, int8, int4, e2m1 };
inline constexpr std::array kStorages = {Storage::f32,  Storage::f16,  Storage::bf16,
                                         Storage::int8, Storage::int4, Storage::e2m1};
inline constexpr int64_t kScaleBlock = 32;  // numbers of int4 and e2m1 that share a scale

const char* name_of(Storage storage);
/// Returns "f32, f16, ...".
std::string storage_names();
/// Throws std::invalid_argument, listing the known names, for an unknown name.
Storage storage_named(const std::string& name);

/// Elements that share an int8 scale: first, first + stride, ...
struct Channel {
  int64_t first, count, stride;
};

/// An array in few bits. `numbers` and `scales` hold elements of these types, little-endian:
///   f16, bf16  u16, no scales         int8  i8, f32 for each channel
///   int4       16 bytes a block, byte b with element b in its low half and b + 16 in its high one, each plus 8; f16 for each block
///   e2m1       the same with the bits of e2m1; scale 2^(u8 - 127) for each block
/// The last block is filled up with zeros.
struct Encoded {
  std::vector<uint8_t> numbers, scales;
};

/// Returns the number of blocks of kScaleBlock that hold n numbers.
inline int64_t blocks_of(int64_t n) { return (n + kScaleBlock - 1) / kScaleBlock; }
/// Returns the bytes of n numbers, without scales.
int64_t stored_bytes(int64_t numbers, Storage storage);
/// Returns the bytes of the scales of n numbers in that many channels.
int64_t scale_bytes(int64_t numbers, int64_t channels, Storage storage);

/// Rounds finite values; each value belongs to exactly one of `channels`. Values out of f16's range become
/// infinite. Throws std::logic_error for f32.
Encoded encode_numbers(Storage storage, std::span<const float> values, std::span<const Channel> channels);

/// Decodes the same number of values. The caller must check sizes and scales.
void decode_numbers(Storage storage, const Encoded& encoded, std::span<const Channel> channels,
                    std::span<float> values);

/// Returns the index of the first scale that is not a finite number above 0, or -1.
int64_t first_bad_scale(Storage storage, const Encoded& encoded);

}  // namespace klab
