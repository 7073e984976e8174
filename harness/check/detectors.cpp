#include "harness/check/detectors.h"

#include <atomic>

namespace klab {
namespace {

static_assert(int(Detector::kCount) <= 64);
std::atomic<uint64_t> switched_off{0};

uint64_t bit_of(Detector detector) { return uint64_t{1} << int(detector); }

}  // namespace

bool uses(Detector detector) {
  return (switched_off.load(std::memory_order_relaxed) & bit_of(detector)) == 0;
}

Without::Without(Detector detector) : before_(switched_off.fetch_or(bit_of(detector))) {}

Without::~Without() { switched_off = before_; }

}  // namespace klab
