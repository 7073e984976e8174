#include "harness/timing/others_work.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace klab {
namespace {

/// Seconds that all hardware threads were busy since the machine started, to the hundredth.
double busy_of_all() {
  std::ifstream in("/proc/stat");
  std::string name;
  int64_t busy = 0, value = 0;
  in >> name;
  // user, nice, system, idle, iowait, irq, softirq, steal
  for (int field = 0; field < 8 && in >> value; ++field)
    if (field != 3 && field != 4) busy += value;
  return double(busy) / double(sysconf(_SC_CLK_TCK));
}

double busy_of_own() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

OthersWork::OthersWork()
    : all_(busy_of_all()), own_(busy_of_own()), begin_(std::chrono::steady_clock::now()) {}

double OthersWork::threads() const {
  const double all = busy_of_all() - all_, own = busy_of_own() - own_;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return wall > 0 ? std::max(0.0, all - own) / wall : 0;
}

double busy_elsewhere(double seconds) {
  const OthersWork others;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return others.threads();
}

}  // namespace klab
