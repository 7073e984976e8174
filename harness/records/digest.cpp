#include "harness/records/digest.h"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace klab {

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("OpenSSL cannot compute SHA-256 here (is it limited to other algorithms?)");
  std::string hex;
  for (unsigned i = 0; i < length; ++i)
    for (const int shift : {4, 0}) hex += "0123456789abcdef"[digest[i] >> shift & 15];
  return hex;
}

}  // namespace klab
