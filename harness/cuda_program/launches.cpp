// Launches: by <<<>>>, by pointers to arguments, cooperative; and queries about kernels.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>

#include "harness/cuda_program/children.h"
#include "harness/cuda_program/state.h"
#include "harness/simt/async_api.h"
#include "harness/simt/cluster_api.h"
#include "harness/simt/executor.h"
#include "harness/simt/gpus.h"
#include "harness/simt/modules.h"
#include "harness/simt/runtime_api.h"

namespace klab::program {
namespace {

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  const void* place;  // of the launch in the program
};
thread_local std::vector<Configuration> configured;

/// A call of a kernel's name that only queries its function, or passes pointers to its arguments.
struct Question {
  std::optional<Call> call;
  void** args = nullptr;
  std::shared_ptr<void> parameters;
};
thread_local Question* question = nullptr;

Question ask(const void* function, void** args) {
  require(function != nullptr && simt::module_at(function) != nullptr, cudaErrorInvalidDeviceFunction);
  Question q;
  q.args = args;
  Question* const before = std::exchange(question, &q);
  // The launching function has the kernel's arguments as parameters, but reads none of them in a query.
  reinterpret_cast<void (*)()>(const_cast<void*>(function))();
  question = before;
  require(q.call.has_value(), cudaErrorInvalidDeviceFunction);
  return q;
}

/// Reports parameters that are names of variables on the device.
void check_names(const Call& call, const void* parameters, const void* place) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  for (size_t k = 0; k + sizeof(void*) <= call.bytes; k += sizeof(void*)) {
    const void* p = *reinterpret_cast<const void* const*>(static_cast<const char*>(parameters) + k);
    const simt::Allocation* a = bare_name(p);
    if (a != nullptr)
      add_host_finding(simt::Kind::host_access,
                       "kernel " + simt::function_name(call.body) + " is given the name of " + a->name +
                           ", which is no address on the device: cudaGetSymbolAddress gives that",
                       place);
  }
}

std::string sizes_of(dim3 d) {
  return std::to_string(d.x) + " x " + std::to_string(d.y) + " x " + std::to_string(d.z);
}

int blocks_at_once(const Call& call, unsigned threads, size_t shared) {
  const auto& gpu = simt::named_gpu();
  return simt::occupancy(gpu, threads, 0, simt::static_shared_bytes(call.body) + shared).blocks;
}

/// Reads the attributes of a launch.
LaunchExtras extras_of(const cudaLaunchConfig_t& config) {
  LaunchExtras extras;
  for (unsigned k = 0; k < config.numAttrs; ++k) {
    const cudaLaunchAttribute& a = config.attrs[k];
    // Priorities and policies have no effect, because work runs when it is submitted.
    require(a.id == cudaLaunchAttributeIgnore || a.id == cudaLaunchAttributeCooperative ||
                a.id == cudaLaunchAttributeClusterDimension ||
                a.id == cudaLaunchAttributeClusterSchedulingPolicyPreference ||
                a.id == cudaLaunchAttributeProgrammaticStreamSerialization ||
                a.id == cudaLaunchAttributePriority,
            cudaErrorNotSupported);
    if (a.id == cudaLaunchAttributeCooperative) extras.cooperative = a.val.cooperative != 0;
    if (a.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      extras.overlaps = a.val.programmaticStreamSerializationAllowed != 0;
    if (a.id != cudaLaunchAttributeClusterDimension) continue;
    const auto& size = a.val.clusterDim;
    require(size.x > 0 && size.y > 0 && size.z > 0, cudaErrorInvalidClusterSize);
    extras.cluster[0] = size.x, extras.cluster[1] = size.y, extras.cluster[2] = size.z;
  }
  return extras;
}

/// Clusters of `blocks` that a GPU holds at once. A cluster lies in one of its 8 parts (GPC); these have an even number of
/// multiprocessors each, as equal as that allows. Cards of one model differ in this, so it is one of several answers.
int clusters_at_once(const Call& call, const cudaLaunchConfig_t& config, unsigned blocks) {
  constexpr int kParts = 8;
  const dim3 block = config.blockDim;
  const int each = blocks_at_once(call, block.x * block.y * block.z, config.dynamicSmemBytes);
  int clusters = 0;
  for (int part = 0, left = simt::device_limits().multiprocessors / 2; part < kParts; ++part) {
    const int pairs = left / (kParts - part);
    left -= pairs;
    clusters += 2 * pairs * each / int(blocks);
  }
  return clusters;
}

void run_children(int level);

std::mutex non_portable_mutex;
/// Kernels that may have clusters of more than 8 blocks.
std::set<const void*>& non_portable() {
  static auto& kernels = *new std::set<const void*>;
  return kernels;
}
bool may_be_non_portable(const Call& call) {
  const std::lock_guard lock(non_portable_mutex);
  return non_portable().contains(call.body);
}

void run(const Call& call, void* parameters, dim3 grid, dim3 block, size_t shared, LaunchExtras extras,
         int level = 0) {
  if (extras.cluster[0] == 0) std::copy(call.cluster, call.cluster + 3, extras.cluster);
  const bool cooperative = extras.cooperative;
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (call.max_threads > 0 && threads <= 1024)
    require(threads <= uint64_t(call.max_threads), cudaErrorInvalidValue);
  if (cooperative) {
    const auto most = uint64_t(blocks_at_once(call, block.x * block.y * block.z, shared)) *
                      uint64_t(simt::device_limits().multiprocessors);
    require(uint64_t(grid.x) * grid.y * grid.z <= most, cudaErrorCooperativeLaunchTooLarge);
  }
  State& s = state();
  ++s.launches;
  const auto begin = std::chrono::steady_clock::now();
  const struct Timed {
    State& s;
    std::chrono::steady_clock::time_point begin;
    ~Timed() {
      s.kernel_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      std::fflush(stdout);  // output of kernels
    }
  } timed{s, begin};
  try {
    launch_in_stream({.kernel = call.body,
                      .call = call.run,
                      .parameters = parameters,
                      .parameter_bytes = call.bytes,
                      .grid = {grid.x, grid.y, grid.z},
                      .block = {block.x, block.y, block.z},
                      .shared_bytes = shared,
                      .cooperative = cooperative},
                     simt::function_name(call.body), extras, may_be_non_portable(call));
  } catch (const simt::Error& e) {
    take_children();
    const cudaError_t error = error_named(e.cuda_name());
    if (error == cudaErrorInvalidConfiguration || error == cudaErrorInvalidValue ||
        error == cudaErrorInvalidKernelImage || error == cudaErrorInvalidClusterSize)
      --s.launches;  // it did not begin
    throw;
  }
  run_children(level + 1);
}

/// Runs what the kernel that has ended has launched. A launch that fails is a finding, since device code rarely asks.
void run_children(int level) {
  for (const Child& c : take_children()) {
    const std::string name = simt::function_name(c.call.body);
    const auto fails = [&](const std::string& why) {
      add_host_finding(simt::Kind::failed_call,
                       "the launch of " + name + " with " + sizes_of(c.grid) + " blocks of " +
                           sizes_of(c.block) + " threads by a kernel failed: " + why,
                       c.place);
    };
    if (level >= kMostLevels) {
      fails("kernels launch kernels over more than " + std::to_string(kMostLevels) + " levels");
      return;
    }
    try {
      run(c.call, c.parameters.get(), c.grid, c.block, c.shared, {}, level);
    } catch (const Failed&) {
      fails("more threads than its __launch_bounds__");
    } catch (const simt::Error& e) {
      const cudaError_t error = error_named(e.cuda_name());
      if (error != cudaErrorInvalidConfiguration && error != cudaErrorInvalidValue &&
          error != cudaErrorInvalidClusterSize)
        throw;
      fails(e.what());
    }
  }
}

}  // namespace

std::shared_ptr<void> room_for(const Call& call, bool made) {
  void* p = std::aligned_alloc(64, (call.bytes + 63) / 64 * 64 + 64);
  return {p, [destroy = call.destroy, made](void* q) {
            if (made) destroy(q);
            std::free(q);
          }};
}

void configure(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  if (simt::running != nullptr && simt::running->lane != nullptr)
    return configure_child(grid, block, shared, stream, __builtin_return_address(0));
  configured.push_back({grid, block, shared, stream, __builtin_return_address(0)});
}

bool asked(const Call& call, void (*fill)(void* to, void** from)) {
  Question* const q = std::exchange(question, nullptr);
  if (q == nullptr) return false;
  q->call = call;
  if (q->args != nullptr) {
    q->parameters = room_for(call, true);
    fill(q->parameters.get(), q->args);
  }
  return true;
}

void launch(const Call& call, const void* parameters) {
  if (simt::running != nullptr && simt::running->lane != nullptr) return launch_child(call, parameters);
  if (configured.empty()) {
    add_host_finding(simt::Kind::program,
                     "kernel " + simt::function_name(call.body) + " is called without <<<>>>");
    last_error() = cudaErrorMissingConfiguration;
    return;
  }
  const Configuration c = configured.back();
  configured.pop_back();
  const cudaError_t error = api_without_wait([&] {
    const std::shared_ptr<void> kept = room_for(call, true);
    call.copy(kept.get(), parameters);
    const void*& place = state().place_of_launch;
    const struct Reset {
      const void*& place;
      ~Reset() { place = nullptr; }
    } reset{place};
    place = c.place;
    enqueue(c.stream, [=] { run(call, kept.get(), c.grid, c.block, c.shared, {}); });
    busy_parameters(kept.get(), call.bytes, c.stream, simt::function_name(call.body));
  });
  check_names(call, parameters, c.place);
  if (error != cudaSuccess)
    unasked_failure(error,
                    "the launch of " + simt::function_name(call.body) + " with " + sizes_of(c.grid) +
                        " blocks of " + sizes_of(c.block) + " threads",
                    c.place);
}

const Call& call_of(const void* function) {
  thread_local Call found;
  found = *ask(function, nullptr).call;
  return found;
}

Work work_of_launch(const void* function, dim3 grid, dim3 block, void** args, size_t shared,
                    bool cooperative) {
  static void* none[1] = {};
  const Question q = ask(function, args == nullptr ? none : args);
  return [call = *q.call, parameters = q.parameters, grid, block, shared, cooperative] {
    run(call, parameters.get(), grid, block, shared, {.cooperative = cooperative});
  };
}

void launch_with(const void* function, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream,
                 const LaunchExtras& extras) {
  static void* none[1] = {};
  const Question q = ask(function, args == nullptr ? none : args);
  enqueue(stream, [call = *q.call, parameters = q.parameters, grid, block, shared, extras] {
    run(call, parameters.get(), grid, block, shared, extras);
  });
  busy_parameters(q.parameters.get(), q.call->bytes, stream, simt::function_name(q.call->body));
}

unsigned warp_index() { return simt::running->lane->warp; }
unsigned multiprocessors() { return unsigned(simt::device_limits().multiprocessors); }
unsigned multiprocessor() { return unsigned(simt::running->block_number % multiprocessors()); }
void not_known_ptx(const char* text, const char* file, int line) {
  simt::running->abandon({.kind = simt::Kind::trap,
                          .file = file,
                          .line = line,
                          .text = std::string("the inline PTX \"") + text +
                                  "\" is not known on the host; it needs a GPU, or CUDA C++ in its place"});
}

}  // namespace klab::program

using namespace klab::program;
namespace simt = klab::simt;

extern "C" {
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args, size_t shared,
                             cudaStream_t stream) {
  return api_without_wait([&] { launch_with(function, grid, block, args, shared, stream, {}); });
}
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** args,
                                        size_t shared, cudaStream_t stream) {
  return api_without_wait(
      [&] { launch_with(function, grid, block, args, shared, stream, {.cooperative = true}); });
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** args) {
  return api_without_wait([&] {
    launch_with(function, config->gridDim, config->blockDim, args, config->dynamicSmemBytes, config->stream,
                extras_of(*config));
  });
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return api([&] {
    const Call& call = call_of(function);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
      require(value >= 0);
      simt::allow_shared(call.body, size_t(value));
    } else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
      require(value == 0 || value == 1);
      const std::lock_guard lock(non_portable_mutex);
      if (value == 1)
        non_portable().insert(call.body);
      else
        non_portable().erase(call.body);
    } else if (attribute == cudaFuncAttributeClusterSchedulingPolicyPreference) {
      require(value >= cudaClusterSchedulingPolicyDefault &&
              value <= cudaClusterSchedulingPolicyLoadBalancing);
    } else {
      require(attribute == cudaFuncAttributePreferredSharedMemoryCarveout && value >= -1 && value <= 100);
    }
  });
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return api([&] {
    const Call& call = call_of(function);
    const int capability = simt::named_gpu().compute_capability;
    *attributes = {};
    attributes->sharedSizeBytes = simt::static_shared_bytes(call.body);
    attributes->maxThreadsPerBlock = call.max_threads > 0 ? call.max_threads : 1024;
    attributes->numRegs = 32;  // not known on the host
    attributes->ptxVersion = attributes->binaryVersion = capability;
    attributes->maxDynamicSharedSizeBytes =
        int(simt::device_limits().shared_per_block - attributes->sharedSizeBytes);
    attributes->preferredShmemCarveout = -1;
  });
}
cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return api([&] { call_of(function); });
}
cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig) {
  return api([&] { call_of(function); });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared) {
  return api([&] {
    const Call& call = call_of(function);
    require(threads > 0);
    const int most = call.max_threads > 0 ? call.max_threads : 1024;
    *blocks = threads > most ? 0 : blocks_at_once(call, unsigned(threads), shared);
  });
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                      int threads) {
  return api([&] {
    const Call& call = call_of(function);
    require(blocks > 0 && threads > 0 && threads <= 1024);
    const auto& gpu = simt::named_gpu();
    const size_t each = std::min(gpu.shared / size_t(blocks) - gpu.shared_reserved, gpu.shared_per_block);
    const size_t fixed = simt::static_shared_bytes(call.body);
    *bytes = each > fixed ? each - fixed : 0;
  });
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
  return api([&] {
    const Call& call = call_of(function);
    LaunchExtras extras = extras_of(*config);
    if (extras.cluster[0] == 0) std::copy(call.cluster, call.cluster + 3, extras.cluster);
    const unsigned blocks = extras.cluster[0] * extras.cluster[1] * extras.cluster[2];
    require(
        blocks > 0 && blocks <= (may_be_non_portable(call) ? simt::kMostOfCluster : simt::kPortableCluster),
        cudaErrorInvalidClusterSize);
    *clusters = clusters_at_once(call, *config, blocks);
  });
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                 const cudaLaunchConfig_t* config) {
  return api([&] {
    const Call& call = call_of(function);
    unsigned blocks = may_be_non_portable(call) ? simt::kMostOfCluster : simt::kPortableCluster;
    while (blocks > 1 && clusters_at_once(call, *config, blocks) == 0) blocks /= 2;
    *size = int(blocks);
  });
}
cudaError_t klab_cuda_best_block(int* grid, int* block, const void* function,
                                 size_t (*shared)(void* data, int threads), void* data, int limit) {
  return api([&] {
    const Call& call = call_of(function);
    const int most = std::min(call.max_threads > 0 ? call.max_threads : 1024, limit > 0 ? limit : 1024);
    int best = 0;
    for (int threads = most / 32 * 32; threads >= 32; threads -= 32) {
      const int blocks = blocks_at_once(call, unsigned(threads), shared(data, threads));
      if (blocks * threads <= best) continue;
      best = blocks * threads;
      *block = threads;
      *grid = blocks * simt::device_limits().multiprocessors;
    }
    require(best > 0);
  });
}
void klab_cuda_grid_sync(const char* file, int line) { simt::grid_barrier(file, line); }
bool klab_cuda_grid_can_sync() { return simt::running->launch->cooperative; }
unsigned klab_is_global(const void* p) { return simt::global_at(p) != nullptr; }
unsigned klab_is_shared(const void* p) {
  const auto* c = static_cast<const char*>(p);
  const simt::Executor& e = *simt::running;
  return (c >= e.static_shared && c < e.static_shared + e.static_shared_bytes) ||
         (c >= e.dynamic_shared && c < e.dynamic_shared + e.launch->shared_bytes);
}
unsigned klab_shared_address(const void* p) { return simt::shared_address(p); }
void* klab_shared_pointer(unsigned address) { return simt::shared_pointer(address); }
}
