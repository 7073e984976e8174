#include "harness/report/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace klab {

bool overwrites_lines(int file) {
  const char* term = std::getenv("TERM");
  return isatty(file) != 0 && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

}  // namespace klab
