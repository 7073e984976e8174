// How the 32 banks of shared memory serve a request.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace klab::simt {

inline constexpr unsigned kBanks = 32;  // of 4 bytes each

/// Returns the words of 4 bytes that a lane's access takes.
inline unsigned words_of_access(uint32_t bytes) { return std::max(1U, (bytes + 3) / 4); }

/// Returns the lanes that are served together, as masks; 0: none. Each group needs as many passes as its busiest bank has
/// distinct words.
std::array<uint32_t, 4> bank_groups(bool write, uint32_t bytes, uint32_t mask, const uintptr_t* address);

}  // namespace klab::simt
