#include "harness/web/port.h"

#include <fmt/format.h>

#include <stdexcept>

#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {

int port_from(const std::string& text, const std::string& option, int otherwise, const std::string& hint) {
  if (text.empty() || text == "true") return otherwise;  // CLI11's text of an option without its value
  try {
    return number_from<int>(text, {1, 65535});
  } catch (const std::invalid_argument&) {
    throw std::invalid_argument(
        fmt::format("{} {}: is no port from 1 to 65535{}", option, excerpt(text), hint));
  }
}

}  // namespace klab
