#include "harness/simt/running_block.h"

#include <algorithm>
#include <utility>

namespace klab::simt {

extern "C" {
constinit thread_local unsigned klab_thread_idx[3] = {}, klab_block_idx[3] = {}, klab_block_dim[3] = {},
                                klab_grid_dim[3] = {};
}

void RunningBlock::take_block(uint64_t b) {
  block[0] = unsigned(b % grid_dim[0]);
  block[1] = unsigned(b / grid_dim[0] % grid_dim[1]);
  block[2] = unsigned(b / grid_dim[0] / grid_dim[1]);
  block_number = b;
  std::copy(std::begin(block), std::end(block), klab_block_idx);
}

void RunningBlock::number_lanes() {
  for (unsigned t = 0; t < threads_; ++t) {
    Lane& l = lanes_[t];
    l.thread = t;
    l.x = t % block_dim[0];
    l.y = t / block_dim[0] % block_dim[1];
    l.z = t / block_dim[0] / block_dim[1];
    l.warp = t / 32;
    l.lane = t % 32;
  }
}

unsigned RunningBlock::ended(unsigned warp) const {
  const unsigned first = warp * 32;
  unsigned mask = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (first + i >= threads_ || lanes_[first + i].state == State::done) mask |= 1u << i;
  return mask;
}

unsigned RunningBlock::going_on(unsigned warp) const {
  unsigned mask = 0;
  for (unsigned i = 0; i < 32 && warp * 32 + i < threads_; ++i) {
    const State state = lanes_[warp * 32 + i].state;
    mask |= unsigned(state == State::fresh || state == State::ready) << i;
  }
  return mask;
}

bool RunningBlock::is_shared(const void* p, size_t bytes) const {
  const auto* c = static_cast<const char*>(p);
  const auto within = [=](const char* from, size_t size) {
    return size_t(c - from) < size && size - size_t(c - from) >= bytes;
  };
  return within(dynamic_shared, launch->shared_bytes) || within(static_shared, static_shared_bytes);
}

bool RunningBlock::is_the_blocks(const void* p) const {
  const auto* c = static_cast<const char*>(p);
  if (lane != nullptr && size_t(c - lane->stack) < kStackOfThread) return true;
  return size_t(c - static_shared) < static_shared_bytes || size_t(c - dynamic_shared) < launch->shared_bytes;
}

uint64_t RunningBlock::work_of_block() const {
  constexpr uint64_t kThread = 4, kResume = 8;  // approximate, in steps
  return steps_ + kThread * threads_ + kResume * resumed_;
}

Finding RunningBlock::placed(Finding f, const Lane* of) const {
  if (of == nullptr) of = lane;
  f.kernel = kernel_;
  std::copy(std::begin(block), std::end(block), f.block);
  if (of != nullptr) f.thread[0] = of->x, f.thread[1] = of->y, f.thread[2] = of->z;
  return f;
}

void RunningBlock::report(Finding f, const Lane* of) { add(placed(std::move(f), of)); }

void RunningBlock::add(const Finding& f) {
  constexpr size_t kOfBlock = 1000;
  if (findings_ != nullptr)
    add_finding(*findings_, f, kOfBlock);
  else
    Session::current().add(f);
}

}  // namespace klab::simt
