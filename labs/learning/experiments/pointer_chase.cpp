#include "labs/learning/experiments/pointer_chase.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <new>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace klab::learning {
namespace {

constexpr int64_t kHugePage = 2 << 20;
constexpr int kRounds = 5;

double thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * double(now.tv_sec) + double(now.tv_nsec);
}

/// Returns the stops in the order of the chain, which begins at stop 0.
std::vector<uint32_t> chain(int64_t stops, PointerChase::Order order, uint64_t seed) {
  std::vector<uint32_t> visits(static_cast<size_t>(stops));
  std::iota(visits.begin(), visits.end(), 0U);
  if (order == PointerChase::Order::ascending) return visits;
  std::mt19937_64 random(seed);
  std::shuffle(visits.begin() + 1, visits.end(), random);
  return visits;
}

}  // namespace

PointerChase::PointerChase(const Settings& s)
    : bytes_(s.bytes), stride_(s.stride), stops_(s.stride > 0 ? s.bytes / s.stride : 0) {
  if (stride_ % int64_t(sizeof(void*)) != 0 || stops_ < 2 || stops_ > std::numeric_limits<uint32_t>::max())
    throw std::invalid_argument(
        fmt::format("a pointer chase through {} bytes with a stride of {}: two stops or more, and a multiple "
                    "of {} bytes from one to the next",
                    bytes_, stride_, sizeof(void*)));
  mapped_ = size_t(bytes_ + kHugePage);
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  const auto from = reinterpret_cast<uintptr_t>(mapping_);
  begin_ = static_cast<char*>(mapping_) + (kHugePage - int64_t(from % uintptr_t(kHugePage))) % kHugePage;
  // A system without huge pages refuses; huge_share() says what it gave.
  madvise(begin_, size_t(bytes_), s.huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  const std::vector<uint32_t> visits = chain(stops_, s.order, s.seed);
  const auto stop = [&](size_t i) { return reinterpret_cast<void**>(begin_ + int64_t(visits[i]) * stride_); };
  for (size_t i = 0; i < visits.size(); ++i) *stop(i) = stop((i + 1) % visits.size());
  at_ = stop(0);
}

PointerChase::~PointerChase() { munmap(mapping_, mapped_); }

int64_t PointerChase::follow(int64_t loads) {
  void** at = at_;
  for (int64_t i = 0; i < loads; ++i) at = static_cast<void**>(*at);
  at_ = at;
  return (reinterpret_cast<char*>(at) - begin_) / stride_;
}

double PointerChase::nanoseconds() {
  // A round has at least 2^16 loads, since a clock costs as much as some dozen of them.
  const int64_t loads = std::clamp<int64_t>(stops_, 1 << 16, 1 << 18);
  follow(std::min<int64_t>(stops_, 1 << 20));  // so that the caches hold what they can
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const double begin = thread_nanoseconds();
    follow(loads);
    least = std::min(least, (thread_nanoseconds() - begin) / double(loads));
  }
  return least;
}

std::optional<double> PointerChase::huge_share() const {
  std::ifstream in("/proc/self/smaps");
  const auto first = reinterpret_cast<uintptr_t>(begin_);
  const uintptr_t last = first + uintptr_t(bytes_);
  bool ours = false, told = false;
  int64_t kilobytes = 0;
  for (std::string line; std::getline(in, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      ours = begin < last && end > first;
      continue;
    }
    std::istringstream words(line);
    std::string name;
    int64_t size = 0;
    if (ours && words >> name >> size && name == "AnonHugePages:") told = true, kilobytes += size;
  }
  if (!told) return std::nullopt;
  return std::min(1.0, 1024 * double(kilobytes) / double(bytes_));
}

}  // namespace klab::learning
