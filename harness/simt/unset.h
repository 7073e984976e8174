// The value that a kernel's local variables have in programs until they are set, and that marks what is copied from them.
#pragma once

#include <cstdint>
#include <cstring>

namespace klab::simt {

/// Each word of such a variable. As a float it is a signaling NaN.
inline constexpr uint32_t kUnsetWord = 0x7FB1D3C7U;

/// What arithmetic makes of that NaN: a quiet one with the same lower bits. It is also the upper word of a double that was never
/// set; the lower word, kUnsetWord, stays as it is.
inline constexpr uint32_t kQuietBit = 0x00400000U, kComputedWord = kUnsetWord | kQuietBit;

/// True once a program whose variables have it is loaded.
extern bool unset_words_exist;

/// Returns whether the aligned word holds it, or a float that was computed from it.
inline bool is_unset(const char* word) {
  uint32_t value;
  std::memcpy(&value, word, sizeof value);
  return (value | kQuietBit) == kComputedWord && unset_words_exist;
}

/// Writes it to those bytes of the aligned word whose bits are set in `bytes`.
inline void fill_unset(char* word, unsigned bytes) {
  for (unsigned b = 0; b < 4; ++b)
    if ((bytes >> b & 1U) != 0) std::memcpy(word + b, reinterpret_cast<const char*>(&kUnsetWord) + b, 1);
}

/// Returns whether the aligned word holds it, shifted by one to three bytes: arrays of bytes are also copied to places of another
/// alignment.
inline bool is_unset_shifted(const char* word) {
  uint32_t value;
  std::memcpy(&value, word, sizeof value);
  bool same = false;
  for (int bits = 8; bits < 32; bits += 8)
    same = same || value == (kUnsetWord << bits | kUnsetWord >> (32 - bits));
  return same && unset_words_exist;
}

/// Returns whether the byte at `p`, which nothing has written, lies behind the end of a text. A buffer of characters is often
/// copied as a whole. `begin`: of its memory; `is_set(q)`: whether something has written the byte at q.
template <class IsSet>
bool is_behind_text(const char* begin, const char* p, IsSet is_set) {
  constexpr long kLongest = 1024;  // bytes without a value behind a text
  const auto has_value = [&](const char* q) {
    const auto byte = static_cast<unsigned char>(*q);
    for (int bits = 0; bits < 32; bits += 8)
      if (byte == (kUnsetWord >> bits & 0xFFU)) return false;
    return bool(is_set(q));
  };
  const char* q = p;
  while (q > begin && p - q < kLongest && !has_value(q - 1)) --q;
  if (q == begin || !has_value(q - 1) || q[-1] != 0) return false;
  // The end of an empty text follows nothing.
  return q - 1 == begin || !has_value(q - 2) || static_cast<unsigned char>(q[-2]) >= ' ';
}

}  // namespace klab::simt
