// Sizes of memory as words, from and for the user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace klab {

/// "4GB", "1.5GiB", "800 MB" as bytes: kB, MB, GB, TB are powers of 1000, KiB to TiB of 1024, in any case of letters. Throws
/// std::invalid_argument saying what it must be.
int64_t bytes_from(std::string_view text);
/// "412 MB", "1.23 GB".
std::string bytes_text(int64_t bytes);

}  // namespace klab
