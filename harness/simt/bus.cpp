#include "harness/simt/bus.h"

#include <algorithm>

#include "harness/simt/profile.h"
#include "harness/simt/runtime_api.h"
#include "harness/simt/session.h"

namespace klab::simt {

void Bus::copy(int stream, Direction direction, size_t bytes) {
  if (size_t(stream) >= ready_.size()) ready_.resize(size_t(stream) + 1, 0);
  int64_t& ready = ready_[size_t(stream)];
  int64_t& free = free_[size_t(direction)];
  // A stream that has done nothing since the last join begins after stream 0.
  ready = free = std::max({ready, free, ready_[0]}) + int64_t(bytes);
  bytes_ += int64_t(bytes);
}

void Bus::join() { ready_[0] = path(); }

int64_t Bus::path() const { return *std::ranges::max_element(ready_); }

void host_copy(int stream, bool up, size_t bytes) {
  Session& session = Session::current();
  if (session.options().traced)
    session.profile().bus.copy(stream, up ? Direction::up : Direction::down, bytes);
}

void host_copies_joined() { Session::current().profile().bus.join(); }

}  // namespace klab::simt
