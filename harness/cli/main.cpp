// klab: the command line.
//
// One process contains several thread pools: OpenMP's, and those of the vendor libraries that variants are
// compared with. A pool that spins between its calls takes cores from the pool that is working. On a machine
// with as many threads as cores, the calls of the latter then last as long as a scheduler time slice. So
// OpenMP's threads spin for a fraction of a millisecond, long enough from one call to the next, and then
// sleep. Settings of the user have precedence.
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "harness/cli/command.h"
#include "harness/core/source.h"

namespace {

/// Sets the spin time. OpenMP's library reads its environment before main begins, so the program restarts
/// itself if the variables are not set.
void spin_briefly(char** argv) {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"})
    if (std::getenv(name) != nullptr) return;
  setenv("GOMP_SPINCOUNT", "20000", 0);  // for GCC, in loop iterations
  setenv("KMP_BLOCKTIME", "1", 0);       // for LLVM, in milliseconds
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length > 0) execv(path.data(), argv);
  // If the restart fails, everything still runs, with longer waits.
}

}  // namespace

int main(int argc, char** argv) {
  spin_briefly(argv);
  klab::set_klab_home(KLAB_HOME);
  return klab::run_command_line(argc, argv);
}
