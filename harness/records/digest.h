// A digest over what a learner hands in.
#pragma once

#include <string>
#include <string_view>

namespace klab {

/// SHA-256 (FIPS 180-4) as 64 hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace klab
