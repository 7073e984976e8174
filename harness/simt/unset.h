// The value that a kernel's local variables have in programs until they are set, and that marks what is copied from them.
#pragma once

#include <cstdint>
#include <cstring>

namespace klab::simt {

/// Each word of such a variable. As a float it is a signaling NaN, which arithmetic turns into a quiet one: only copies keep
/// it.
inline constexpr uint32_t kUnsetWord = 0x7FB1D3C7U;

/// True once a program whose variables have it is loaded.
extern bool unset_words_exist;

/// Returns whether the aligned word holds it.
inline bool is_unset(const char* word) {
  uint32_t value;
  std::memcpy(&value, word, sizeof value);
  return value == kUnsetWord && unset_words_exist;
}

}  // namespace klab::simt
