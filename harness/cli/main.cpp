// klab: the command line.
//
// Several pools of threads live in one process: OpenMP's, and those of the vendor libraries that variants are compared with.
// A pool that spins while it waits for its next turn takes a core from the one whose turn it is, and on a machine with as
// many threads as cores the other's calls then last as long as a time slice of the system. So OpenMP's threads spin
// for a fraction of a millisecond, long enough from one call to the next, and sleep then. What the user has set stays.
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "harness/cli/command.h"
#include "harness/core/source.h"

namespace {

/// OpenMP's library reads its environment before main begins: where it is not set the program starts once more.
void spin_briefly(char** argv) {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    if (std::getenv(name) != nullptr) return;
  setenv("GOMP_SPINCOUNT", "20000", 0);  // GCC's, in turns of its loop
  setenv("KMP_BLOCKTIME", "1", 0);       // LLVM's, in milliseconds
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length > 0) execv(path.data(), argv);
  // Without a second start everything runs, only with longer waits.
}

}  // namespace

int main(int argc, char** argv) {
  spin_briefly(argv);
  klab::set_klab_home(KLAB_HOME);
  return klab::run_command_line(argc, argv);
}
