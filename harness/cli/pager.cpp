#include "harness/cli/pager.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "harness/report/table.h"

namespace klab {
namespace {

int rows_of_terminal() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

}  // namespace

void print_paged(const std::string& text) {
  const char* asked = std::getenv("PAGER");
  const std::string pager = asked != nullptr ? asked : "less";
  const int rows = rows_of_terminal();
  const bool paged = paper().terminal && isatty(STDIN_FILENO) != 0 && rows > 0 &&
                     std::ranges::count(text, '\n') >= rows && !pager.empty() && pager != "cat";
  if (paged) {
    // Colors as they are, no page for what fits; a pager that is not there leaves the text to be printed here.
    setenv("LESS", "FRX", 0);
    std::fflush(stdout);
    const auto before = signal(SIGPIPE, SIG_IGN);  // the reader may leave early
    const std::string known = "command -v " + pager.substr(0, pager.find(' ')) + " >/dev/null 2>&1";
    FILE* out = std::system(known.c_str()) == 0 ? popen(pager.c_str(), "w") : nullptr;
    if (out != nullptr) {
      std::fwrite(text.data(), 1, text.size(), out);
      pclose(out);
    }
    signal(SIGPIPE, before);
    if (out != nullptr) return;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace klab
