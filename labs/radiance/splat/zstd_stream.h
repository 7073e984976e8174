// Bytes in Zstandard's format (RFC 8878), by libzstd where klab was built with it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace klab {

/// Returns whether klab was built with libzstd.
bool has_zstd();

/// Returns the bytes as one frame. Throws std::runtime_error without libzstd.
std::vector<uint8_t> zstd_of(std::span<const uint8_t> bytes);

/// Unpacks frames that must fill `to` exactly. Throws std::runtime_error, a sentence about the stream, for a damaged one or one of
/// another size, and without libzstd.
void unpack_zstd(std::span<const uint8_t> packed, std::span<uint8_t> to);

}  // namespace klab
