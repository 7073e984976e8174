#include "harness/step/digest.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace klab {
namespace {

/// The first 32 bits of the fractional parts of roots of the first primes: square roots begin the state, cube roots are
/// the constants (FIPS 180-4, 4.2.2 and 5.3.3). 80 bits of long double, or 113, hold them exactly.
struct Constants {
  std::array<uint32_t, 8> state{};
  std::array<uint32_t, 64> round{};
  Constants() {
    size_t found = 0;
    for (int n = 2; found < 64; ++n) {
      bool prime = true;
      for (int d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
      if (!prime) continue;
      if (found < 8) state[found] = fraction(std::sqrt(static_cast<long double>(n)));
      round[found++] = fraction(std::cbrt(static_cast<long double>(n)));
    }
  }
  static uint32_t fraction(long double root) { return uint32_t((root - std::floor(root)) * 4294967296.0L); }
};

void compress(std::array<uint32_t, 8>& state, const unsigned char* block, const std::array<uint32_t, 64>& k) {
  std::array<uint32_t, 64> w{};
  for (size_t i = 0; i < 16; ++i)
    w[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 | uint32_t(block[4 * i + 2]) << 8 |
           uint32_t(block[4 * i + 3]);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t x =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + k[i] + w[i];
    const uint32_t y =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + x, d = c, c = b, b = a, a = x + y;
  }
  const std::array<uint32_t, 8> more{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += more[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  static const Constants constants;
  auto state = constants.state;
  std::string padded(bytes);
  padded += char(0x80);
  while (padded.size() % 64 != 56) padded += '\0';
  const uint64_t bits = uint64_t(bytes.size()) * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += char(bits >> shift & 0xFF);
  for (size_t at = 0; at < padded.size(); at += 64)
    compress(state, reinterpret_cast<const unsigned char*>(padded.data()) + at, constants.round);
  std::string hex;
  for (const uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 15];
  return hex;
}

}  // namespace klab
