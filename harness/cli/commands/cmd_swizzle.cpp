// klab swizzle: where a swizzle of the copy engine puts a tile's bytes, and which requests it helps.
#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/cli/swizzle.h"

namespace klab::swizzle_command {
namespace {

struct Options {
  uint64_t span = 128;
  int row_bytes = 0;  // 0: those of the swizzle
  int element = 2;
  uint64_t base = 0;
  std::vector<std::string> addresses;
};

/// Reads an address of shared memory, in decimal or as 0x1f0.
uintptr_t address_from(const std::string& text) {
  const bool hexadecimal = text.starts_with("0x");
  const std::string digits = hexadecimal ? text.substr(2) : text;
  if (digits.empty() || digits.size() > 8 ||
      digits.find_first_not_of(hexadecimal ? "0123456789abcdefABCDEF" : "0123456789") != std::string::npos)
    throw std::invalid_argument("--address: '" + text + "' is no address: write 0x1f0 or 496");
  return std::stoul(digits, nullptr, hexadecimal ? 16 : 10);
}

int run(Options o) {
  const unsigned swizzle = swizzle_of_span(unsigned(o.span));
  if (!o.addresses.empty()) {
    std::vector<uintptr_t> list;
    for (const std::string& a : o.addresses) list.push_back(address_from(a));
    fmt::print("{}", addresses_text(swizzle, list));
    return exit_ok;
  }
  const int span = int(o.span);
  if (o.row_bytes == 0) o.row_bytes = span == 0 ? 128 : span;
  if (o.row_bytes % 16 != 0)
    throw std::invalid_argument(
        fmt::format("--row-bytes is {}: a swizzle moves pieces of 16 bytes, so it must be a multiple of 16",
                    o.row_bytes));
  if (span != 0 && o.row_bytes > span)
    throw std::invalid_argument(
        fmt::format("--row-bytes is {}: a box under a swizzle of {} bytes has rows of at most {} bytes "
                    "(cuTensorMapEncodeTiled)",
                    o.row_bytes, span, span));
  if ((o.element & (o.element - 1)) != 0)
    throw std::invalid_argument(
        fmt::format("--element is {}: elements have 1, 2, 4, 8 or 16 bytes", o.element));
  const SwizzledTile tile{
      .swizzle = swizzle, .row_bytes = uint32_t(o.row_bytes), .element = uint32_t(o.element), .base = o.base};
  if (span != 0)
    fmt::print(
        "Rows of {} bytes from offset {}. Bits 4 to {} of an address change by bits 7 to {}; the pattern "
        "repeats after {} bytes,\nso a tile begins at a multiple of that.\n\n",
        tile.row_bytes, tile.base, 3 + swizzle, 6 + swizzle, 8 * span);
  fmt::print("{}\n{}", tile_text(tile), requests_text(tile));
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "swizzle",
     .summary = "Where a swizzle of the copy engine puts a tile's bytes, and which requests it helps",
     .details = "klab swizzle 128                       rows of 128 bytes under CU_TENSOR_MAP_SWIZZLE_128B\n"
                "klab swizzle 64 --row-bytes 64 --element 4\n"
                "klab swizzle 128 --address 0x80,0x490  these addresses of shared memory, before and after",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       add_number(app, "span", o->span, {0, 128}, "bytes of the swizzle: 0 (none), 32, 64 or 128");
       add_number(app, "--row-bytes", o->row_bytes, {16, 128},
                  "bytes of a row of the tile; default: those of the swizzle");
       add_number(app, "--element", o->element, {1, 16}, "bytes of an element (2)");
       add_number(app, "--base", o->base, {0, 262144}, "offset of the tile in shared memory (0)");
       app.add_option("--address", o->addresses, "addresses of shared memory instead of a tile")
           ->delimiter(',')
           ->option_text("A,B");
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::swizzle_command
