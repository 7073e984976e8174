#include "labs/radiance/splat/zstd_stream.h"

#include <fmt/format.h>

#include <stdexcept>

#ifdef KLAB_HAVE_ZSTD
#include <zstd.h>
#endif

namespace klab {

#ifdef KLAB_HAVE_ZSTD

bool has_zstd() { return true; }

std::vector<uint8_t> zstd_of(std::span<const uint8_t> bytes) {
  constexpr int kZstdLevel = 12;
  std::vector<uint8_t> out(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0) throw std::runtime_error(ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

void unpack_zstd(std::span<const uint8_t> packed, std::span<uint8_t> to) {
  const size_t size = ZSTD_decompress(to.data(), to.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0)
    throw std::runtime_error(
        fmt::format("is no whole Zstandard stream of {} bytes ({})", to.size(), ZSTD_getErrorName(size)));
  if (size != to.size())
    throw std::runtime_error(fmt::format("has {} bytes, and {} are announced", size, to.size()));
}

#else

bool has_zstd() { return false; }

std::vector<uint8_t> zstd_of(std::span<const uint8_t>) {
  throw std::runtime_error("klab was built without libzstd-dev");
}

void unpack_zstd(std::span<const uint8_t>, std::span<uint8_t>) {
  throw std::runtime_error("klab was built without libzstd-dev");
}

#endif

}  // namespace klab
