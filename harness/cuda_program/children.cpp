// Launches by kernels. A parent cannot wait for its children, so running them when its grid has ended is one of the orders
// that a GPU may choose.
#include "harness/cuda_program/children.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "harness/simt/executor.h"
#include "harness/simt/modules.h"

namespace klab::program {
namespace {

std::mutex children_mutex;
std::vector<Child>& children() {
  static auto& list = *new std::vector<Child>;
  return list;
}
// Threads of a block take turns on one thread of the host, also while the arguments of a launch are evaluated.
thread_local std::map<const simt::Lane*, Child> configured_children;

/// While it lives, accesses count as those of host code.
struct AsHost {
  AsHost() : lane(std::exchange(simt::running->lane, nullptr)) {}
  ~AsHost() { simt::running->lane = lane; }
  AsHost(const AsHost&) = delete;
  AsHost& operator=(const AsHost&) = delete;
  simt::Lane* lane;
};

/// Ends the launch if a parameter is an address that a child cannot use.
void check_parameters(const Call& call, const void* parameters, const void* place) {
  simt::Executor& e = *simt::running;
  const auto within = [](const char* p, const char* begin, size_t bytes) {
    return begin != nullptr && p >= begin && p < begin + bytes;
  };
  for (size_t k = 0; k + sizeof(void*) <= call.bytes; k += sizeof(void*)) {
    const char* p = *reinterpret_cast<const char* const*>(static_cast<const char*>(parameters) + k);
    const bool shared = within(p, e.static_shared, e.static_shared_bytes) ||
                        within(p, e.dynamic_shared, e.launch->shared_bytes);
    if (!shared && !within(p, e.lane->stack, simt::kStackOfThread)) continue;
    const simt::SourceLine at = simt::source_of(place);
    e.abandon({.kind = simt::Kind::out_of_bounds,
               .file = at.file,
               .line = at.line,
               .text = "kernel " + simt::function_name(call.body) + " is given the address of " +
                       (shared ? "shared memory" : "a local variable") +
                       ", which belongs to the kernel that launches it: pass global memory"});
  }
}

}  // namespace

void configure_child(dim3 grid, dim3 block, size_t shared, cudaStream_t stream, const void* place) {
  Child& c = configured_children[simt::running->lane];
  c = {};
  c.grid = grid;
  c.block = block;
  c.shared = shared;
  c.tail = stream == cudaStreamTailLaunch;
  c.place = place;
}

void launch_child(const Call& call, const void* parameters) {
  simt::Executor& e = *simt::running;
  const auto at = configured_children.find(e.lane);
  if (at == configured_children.end())
    e.abandon({.kind = simt::Kind::trap,
               .text = "kernel " + simt::function_name(call.body) + " is called without <<<>>>"});
  Child c = std::move(at->second);
  configured_children.erase(at);
  check_parameters(call, parameters, c.place);
  c.call = call;
  c.of_block = e.block_number;
  c.of_thread = e.lane->thread;
  const AsHost no_lane;
  c.parameters = room_for(call, true);
  call.copy(c.parameters.get(), parameters);
  const std::lock_guard lock(children_mutex);
  children().push_back(std::move(c));
}

std::vector<Child> take_children() {
  configured_children.clear();
  const std::lock_guard lock(children_mutex);
  std::vector<Child> list = std::exchange(children(), {});
  // Blocks run on several threads of the host; each thread's launches are in their order already.
  std::ranges::stable_sort(list, {},
                           [](const Child& c) { return std::tuple(c.tail, c.of_block, c.of_thread); });
  return list;
}

void refuse_in_kernel(const char* call) {
  if (simt::running == nullptr || simt::running->lane == nullptr) return;
  const simt::SourceLine at = place_of_call();
  simt::running->abandon(
      {.kind = simt::Kind::trap,
       .file = at.file,
       .line = at.line,
       .text = std::string(call) +
               " is called in device code, which cannot wait for a kernel since CUDA 12: launch "
               "what comes next into cudaStreamTailLaunch, or from host code"});
}

}  // namespace klab::program
