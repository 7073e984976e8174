// Implements runtime_api.h with the executor of this host thread.
#include "harness/simt/runtime_api.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "harness/simt/background.h"
#include "harness/simt/block_turns.h"
#include "harness/simt/cluster.h"
#include "harness/simt/cluster_api.h"
#include "harness/simt/executor.h"
#include "harness/simt/grid_run.h"
#include "harness/simt/host_workers.h"
#include "harness/simt/modules.h"
#include "harness/simt/recording.h"
#include "harness/simt/trace.h"
#include "harness/simt/unwatched.h"
#include "harness/simt/vector_atomics.h"

namespace klab::simt {
namespace {

std::mutex shared_mutex;
std::map<const void*, size_t>& allowed_shared() {
  static auto& bytes = *new std::map<const void*, size_t>;
  return bytes;
}

[[noreturn]] void bad_configuration(const std::string& kernel, const std::string& why) {
  throw Error("cudaErrorInvalidConfiguration",
              "invalid configuration argument: kernel " + kernel + " with " + why);
}

/// The launches of a host thread, for block_turns().
struct LaunchNotes {
  double turns = 0;                // of all launches but the last
  double blocks = 0, threads = 0;  // of the last one, and of one of its blocks
  bool fenced = false;             // likewise

  double with_last() const { return fenced ? std::max(turns, blocks / threads) : turns; }
  void begin(const Launch& l) {
    const double next = double(l.grid[0]) * l.grid[1] * l.grid[2];
    const double wide = double(l.block[0]) * l.block[1] * l.block[2];
    turns = with_last();
    if (next < blocks) turns = std::max(turns, blocks / std::max(threads, wide));
    blocks = next;
    threads = wide;
    fenced = false;
  }
};
thread_local LaunchNotes launch_notes;

std::string sizes(const unsigned* d) {
  return "(" + std::to_string(d[0]) + "," + std::to_string(d[1]) + "," + std::to_string(d[2]) + ")";
}

/// Checks a launch against the limits of the named device.
void check_launch(const Launch& l, const std::string& kernel, size_t static_bytes) {
  const DeviceLimits& device = device_limits();
  const uint64_t threads = uint64_t(l.block[0]) * l.block[1] * l.block[2];
  if (l.grid[0] == 0 || l.grid[1] == 0 || l.grid[2] == 0)
    bad_configuration(kernel, "a grid of " + sizes(l.grid) + " blocks: no dimension may be 0");
  if (threads == 0)
    bad_configuration(kernel, "a block of " + sizes(l.block) + " threads: no dimension may be 0");
  if (threads > 1024)
    bad_configuration(kernel, "a block of " + sizes(l.block) + " = " + std::to_string(threads) +
                                  " threads; at most 1024 fit");
  if (l.block[2] > 64)
    bad_configuration(kernel, "a block of " + sizes(l.block) + " threads; z is at most 64");
  if (l.grid[0] > 0x7FFFFFFFu || l.grid[1] > 65535 || l.grid[2] > 65535)
    bad_configuration(kernel, "a grid of " + sizes(l.grid) + " blocks; at most (2147483647,65535,65535)");
  size_t allowed = device.shared_per_block;
  {
    const std::lock_guard lock(shared_mutex);
    if (const auto at = allowed_shared().find(l.kernel); at != allowed_shared().end())
      allowed = std::max(allowed, at->second + static_bytes);
  }
  if (static_bytes > device.shared_per_block)
    throw Error("cudaErrorInvalidKernelImage", "kernel " + kernel + " declares " +
                                                   std::to_string(static_bytes) +
                                                   " bytes of static shared memory; at most " +
                                                   std::to_string(device.shared_per_block) + " compile");
  if (static_bytes + l.shared_bytes > std::min(allowed, device.shared_per_block_optin))
    throw Error("cudaErrorInvalidValue",
                "invalid argument: kernel " + kernel + " asks for " +
                    std::to_string(static_bytes + l.shared_bytes) + " bytes of shared memory a block; " +
                    device.name + " gives " + std::to_string(device.shared_per_block) + ", and up to " +
                    std::to_string(device.shared_per_block_optin) +
                    " after cudaFuncSetAttribute (cuda::allow_shared in klab's kernels)");
}

/// Returns how many host threads run a launch. Cooperative launches use one, since their blocks wait for each
/// other in turn.
int threads_for(const Launch& l, const Options& options) {
  const uint64_t blocks = uint64_t(l.grid[0]) * l.grid[1] * l.grid[2];
  if (l.cooperative || options.work_limit != 0 || running != nullptr || Recording::current() != nullptr)
    return 1;
  return int(std::min<uint64_t>(blocks, uint64_t(std::max(1, options.threads))));
}

/// Runs all blocks sequentially; returns how many were watched.
uint64_t run_alone(const Launch& l, const std::string& kernel, Session& session, Profile* profile) {
  Executor& ex = executor();
  Trace* const trace = profile != nullptr ? &trace_of_thread() : nullptr;
  if (trace != nullptr) trace->launch_begins(ex, session, profile, l);
  try {
    ex.run(l, kernel, session.options(), trace);
  } catch (...) {
    if (trace != nullptr) trace->launch_ended();
    throw;
  }
  if (trace != nullptr) trace->launch_ended();
  return ex.watched_blocks();
}

/// Runs blocks concurrently; returns how many were watched.
uint64_t run_concurrently(const Launch& l, const std::string& kernel, Session& session, Profile* profile) {
  GridRun grid(l, kernel, session, profile);
  on_host_workers(threads_for(l, session.options()), [&] { executor().work_on(grid); });
  if (grid.error()) std::rethrow_exception(grid.error());
  if (grid.fatal()) throw Error(cuda_name_of(*grid.fatal()), grid.fatal()->describe());
  return grid.watched_blocks();
}

/// Runs blocks in clusters on this thread; returns how many were watched.
uint64_t run_clusters(const Launch& l, const std::string& kernel, Session& session, Profile* profile,
                      const unsigned (&size)[3]) {
  GridRun grid(l, kernel, session, profile, size);
  executor().work_on_clusters(grid);
  if (grid.error()) std::rethrow_exception(grid.error());
  if (grid.fatal()) throw Error(cuda_name_of(*grid.fatal()), grid.fatal()->describe());
  return grid.watched_blocks();
}

void check_clusters(const Launch& l, const std::string& kernel, const unsigned (&size)[3],
                    bool non_portable) {
  const uint64_t blocks = uint64_t(size[0]) * size[1] * size[2];
  const auto bad = [&](const std::string& why) {
    throw Error("cudaErrorInvalidClusterSize",
                "invalid cluster size: kernel " + kernel + " in clusters of " + sizes(size) + why);
  };
  if (blocks == 0) bad(" blocks: no dimension may be 0");
  if (device_limits().compute_capability < 90)
    bad(std::string(" blocks: ") + device_limits().name + " has none, they need compute capability 9.0");
  if (blocks > kMostOfCluster)
    bad(" = " + std::to_string(blocks) + " blocks; at most " + std::to_string(kMostOfCluster) + " fit");
  if (blocks > kPortableCluster && !non_portable)
    bad(" = " + std::to_string(blocks) + " blocks; more than " + std::to_string(kPortableCluster) +
        " need cudaFuncAttributeNonPortableClusterSizeAllowed");
  for (int d = 0; d < 3; ++d)
    if (l.grid[d] % size[d] != 0) bad(" blocks: a grid of " + sizes(l.grid) + " is no multiple of that");
  if (l.cooperative)
    throw Error("cudaErrorNotSupported",
                "kernel " + kernel + ": a cooperative launch in clusters is not modeled on the host");
}

/// Size of the clusters of the launch that begins, set by launch_clusters().
struct InClusters {
  const unsigned (*size)[3];
  bool non_portable;
};
thread_local const InClusters* in_clusters = nullptr;

}  // namespace

void reset_block_turns() { launch_notes = {}; }
double block_turns() { return launch_notes.with_last(); }

void launch_clusters(const Launch& what, const unsigned (&size)[3], bool non_portable) {
  const InClusters clusters{&size, non_portable};
  const struct Set {
    explicit Set(const InClusters* one) { in_clusters = one; }
    ~Set() { in_clusters = nullptr; }
  } set{&clusters};
  launch(what);
}

void allow_shared(const void* kernel, size_t bytes) {
  const DeviceLimits& device = device_limits();
  const size_t fixed = static_shared_bytes(kernel);
  if (bytes + fixed > device.shared_per_block_optin)
    throw Error("cudaErrorInvalidValue", "invalid argument: " + std::to_string(bytes + fixed) +
                                             " bytes of shared memory a block; " + device.name +
                                             " has at most " + std::to_string(device.shared_per_block_optin));
  const std::lock_guard lock(shared_mutex);
  allowed_shared()[kernel] = bytes;
}

void launch(const Launch& l) {
  Session& session = Session::current();
  const std::string kernel = function_name(l.kernel);
  const size_t static_bytes = static_shared_bytes(l.kernel);
  check_launch(l, kernel, static_bytes);
  launch_notes.begin(l);
  const InClusters* const clusters = std::exchange(in_clusters, nullptr);
  if (clusters != nullptr) check_clusters(l, kernel, *clusters->size, clusters->non_portable);
  const Module* module = module_at(l.kernel);
  executor().attach(l);
  Profile* profile = nullptr;
  if (session.options().traced && module != nullptr && module->traced) {
    profile = &session.profile();
    LaunchRecord record{.kernel = kernel, .dynamic_shared = l.shared_bytes, .static_shared = static_bytes};
    std::copy(l.grid, l.grid + 3, record.grid);
    std::copy(l.block, l.block + 3, record.block);
    profile->launches.push_back(record);
    if (Recording* const recording = Recording::current(); recording != nullptr)
      recording->launch_begins(record);
  }
  std::vector<Site> before;
  if (profile != nullptr && (session.options().share < 1 || share_of_blocks != nullptr))
    before = profile->sites();
  const bool others_may_write = copies_may_write || (host_shares_memory != nullptr && host_shares_memory());
  const bool may_wait_for_host = others_may_write && profile != nullptr && !l.cooperative &&
                                 session.options().share >= 1 && session.options().work_limit == 0 &&
                                 running == nullptr && Recording::current() == nullptr;
  const uint64_t watched =
      clusters != nullptr ? run_clusters(l, kernel, session, profile, *clusters->size)
      : may_wait_for_host ? run_in_background(l, kernel, session, profile, threads_for(l, session.options()))
      : threads_for(l, session.options()) > 1 ? run_concurrently(l, kernel, session, profile)
                                              : run_alone(l, kernel, session, profile);
  if (profile == nullptr) return;
  const uint64_t blocks = uint64_t(l.grid[0]) * l.grid[1] * l.grid[2];
  if (watched > 0 && watched < blocks) profile->scale(before, double(blocks) / double(watched));
  if (launch_was_watched != nullptr) launch_was_watched(watched, blocks);
}

unsigned thread_x() { return running->lane->x; }
unsigned thread_y() { return running->lane->y; }
unsigned thread_z() { return running->lane->z; }
unsigned block_x() { return running->block[0]; }
unsigned block_y() { return running->block[1]; }
unsigned block_z() { return running->block[2]; }
unsigned block_dim_x() { return running->block_dim[0]; }
unsigned block_dim_y() { return running->block_dim[1]; }
unsigned block_dim_z() { return running->block_dim[2]; }
unsigned grid_dim_x() { return running->grid_dim[0]; }
unsigned grid_dim_y() { return running->grid_dim[1]; }
unsigned grid_dim_z() { return running->grid_dim[2]; }
unsigned lane_index() { return running->lane->lane; }

void* dynamic_shared() { return running->dynamic_shared; }

int barrier(Vote vote, int predicate, const char* file, int line) {
  return running->wait_at_barrier(vote, predicate, file, line);
}

void grid_barrier(const char* file, int line) { running->wait_for_grid(file, line); }

void meet(Meeting what, unsigned mask, void* slot, void (*act)(void* const*, unsigned), const char* name,
          const char* file, int line) {
  running->wait_for_lanes(what, mask, slot, act, name, file, line);
}

void fence(bool whole_device) {
  if (whole_device) launch_notes.fenced = true;
  if (running->trace != nullptr) running->trace->fence(whole_device);
  // Without a trace the volatile accesses after the fence, by which blocks communicate, go unnoticed.
  if (whole_device && running->trace == nullptr) running->in_turn();
}

unsigned random_turn(unsigned below) { return unsigned(Session::current().random() >> 33) % below; }

void pause() {
  running->step(__builtin_return_address(0));
  running->let_others_run();
}

void trap(const char* file, int line) {
  running->abandon({.kind = Kind::trap, .file = file, .line = line, .text = "__trap()"});
}

uint64_t clock_ticks() {
  if (running != nullptr && running->lane != nullptr) running->in_turn();
  static std::atomic<uint64_t> ticks{0};
  return ticks += 16;
}

}  // namespace klab::simt

/// Replaces the C library's clock(), which is CUDA's too. Returns the device's ticks in a kernel and
/// processor time elsewhere.
extern "C" clock_t clock() noexcept {
  if (klab::simt::running != nullptr && klab::simt::running->lane != nullptr)
    return clock_t(klab::simt::clock_ticks());
  timespec t{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0) return clock_t(-1);
  return clock_t(t.tv_sec) * CLOCKS_PER_SEC + clock_t(t.tv_nsec / (1'000'000'000 / CLOCKS_PER_SEC));
}

namespace klab::simt {

void touch_from(const void* p, size_t bytes, bool write, const void* pc) {
  if (running->trace != nullptr)
    running->trace->access(p, bytes, write ? kWrite : kRead, pc);
  else if (write)
    written_unwatched(p, bytes);
}

// Asynchronous copies.

void copy_async(void* shared, const void* global, unsigned bytes, unsigned filled) {
  const AsyncCopy copy{static_cast<char*>(shared), static_cast<const char*>(global), bytes, filled,
                       __builtin_return_address(0)};
  running->lane->copies.push_back(copy);
  if (running->trace != nullptr) running->trace->copy_issued(copy);
}

void copy_async_commit() {
  Lane& l = *running->lane;
  l.groups.push_back(l.copies.size());
  if (running->trace != nullptr) running->trace->note(Note::commit, 0);
}

void copy_async_wait(int groups_left) {
  Lane& l = *running->lane;
  if (running->trace != nullptr) running->trace->note(Note::wait, 0, uint32_t(groups_left));
  if (int(l.groups.size()) <= groups_left) return;
  const size_t done = l.groups.size() - size_t(groups_left), copies = l.groups[done - 1];
  for (size_t i = 0; i < copies; ++i) {
    const AsyncCopy& c = l.copies[i];
    std::memcpy(c.to, c.from, c.filled);
    std::memset(c.to + c.filled, 0, c.bytes - c.filled);
    if (running->trace != nullptr) running->trace->copy_landed(c);
  }
  l.copies.erase(l.copies.begin(), l.copies.begin() + std::ptrdiff_t(copies));
  l.groups.erase(l.groups.begin(), l.groups.begin() + std::ptrdiff_t(done));
  for (size_t& end : l.groups) end -= copies;
}

// Atomics. Only one thread runs at a time, so reading and writing is enough.

namespace {

template <class T>
T combine(Atomic how, T old, T value, T expected) {
  switch (how) {
    case Atomic::add:
      return T(old + value);
    case Atomic::max:
      return std::max(old, value);
    case Atomic::min:
      return std::min(old, value);
    case Atomic::exchange:
      return value;
    case Atomic::compare:
      return old == expected ? value : old;
    case Atomic::increment:
      return old >= value ? T(0) : T(old + 1);
    case Atomic::decrement:
      return old == T(0) || old > value ? value : T(old - 1);
    default:
      if constexpr (std::is_integral_v<T>)
        return T(how == Atomic::bit_and ? old & value : how == Atomic::bit_or ? old | value : old ^ value);
      return old;
  }
}

/// Steps after which a thread that executes only atomics yields, since it may wait for another one.
constexpr uint64_t kSpin = 256;

float without_denormals(float v) { return std::abs(v) < FLT_MIN ? std::copysign(0.0f, v) : v; }

template <class T>
T update(Atomic asked, T* p, T value, T expected, const void* pc, bool no_denormals = false) {
  Executor& ex = *running;
  const auto how = Atomic(int(asked) & ~kConstantOperand);
  ex.in_turn(p);
  if (ex.trace != nullptr) {
    // Sums of floating-point numbers depend on their order, so compilers keep each lane's addition.
    // One lane adds a known number for all lanes; for 32 bits there are warp instructions (REDUX).
    const bool redux = sizeof(T) == 4 && how != Atomic::exchange && how != Atomic::compare &&
                       how != Atomic::increment && how != Atomic::decrement;
    const bool merges = (asked != how || redux) && std::is_integral_v<T>;
    const bool decides = how != Atomic::add && how != Atomic::increment && how != Atomic::decrement;
    ex.trace->access(p, sizeof(T),
                     uint8_t(kWrite | kAtomic | (merges ? kMerges : 0) | (decides ? kDecides : 0)), pc);
    ex.trace->atomic_at(p);
  } else if (how == Atomic::exchange) {
    written_unwatched(p, sizeof(T));
  }
  const T old = *p;
  T now = combine(how, old, value, expected);
  if constexpr (std::is_same_v<T, float>)
    if (no_denormals) now = without_denormals(combine(how, without_denormals(old), value, expected));
  // What does not change the word must not undo what host code writes at the same time.
  if (std::memcmp(&old, &now, sizeof(T)) != 0) *p = now;
  ex.lane->polled(p, pc, std::memcmp(&old, p, sizeof(T)) == 0);
  if (how == Atomic::compare && old != expected && ++ex.lane->steps % kSpin == 0) ex.let_others_run();
  return old;
}

}  // namespace

uint32_t atomic_i32(Atomic how, int32_t* p, uint32_t value, uint32_t expected) {
  // Addition wraps around, as unsigned.
  if ((int(how) & ~kConstantOperand) == int(Atomic::add))
    return update(how, reinterpret_cast<uint32_t*>(p), value, expected, __builtin_return_address(0));
  return uint32_t(update(how, p, int32_t(value), int32_t(expected), __builtin_return_address(0)));
}
uint32_t atomic_u32(Atomic how, uint32_t* p, uint32_t value, uint32_t expected) {
  return update(how, p, value, expected, __builtin_return_address(0));
}
uint64_t atomic_u64(Atomic how, uint64_t* p, uint64_t value, uint64_t expected, bool is_signed) {
  const auto plain = Atomic(int(how) & ~kConstantOperand);
  if (is_signed && (plain == Atomic::max || plain == Atomic::min))
    return uint64_t(update(how, reinterpret_cast<int64_t*>(p), int64_t(value), int64_t(expected),
                           __builtin_return_address(0)));
  return update(how, p, value, expected, __builtin_return_address(0));
}
float atomic_f32(Atomic how, float* p, float value) {
  // Sums in global memory flush denormals: RED.ADD.F32.FTZ in machine code. Sums in shared memory do not.
  const Executor& ex = *running;
  const auto* at = reinterpret_cast<const char*>(p);
  const auto within = [at](const char* from, size_t bytes) { return at >= from && at < from + bytes; };
  const bool shared = within(ex.static_shared, ex.static_shared_bytes) ||
                      within(ex.dynamic_shared, ex.launch->shared_bytes) ||
                      (ex.cluster != nullptr && ex.cluster->peer_at(p).rank >= 0);
  if (shared || (int(how) & ~kConstantOperand) != int(Atomic::add))
    return update(how, p, value, 0.0f, __builtin_return_address(0));
  return update(how, p, without_denormals(value), 0.0f, __builtin_return_address(0), true);
}
double atomic_f64(Atomic how, double* p, double value) {
  return update(how, p, value, 0.0, __builtin_return_address(0));
}

namespace {

uint16_t half_sum(uint16_t a, uint16_t b) { return half_from_float(float_from_half(a) + float_from_half(b)); }
uint16_t bfloat16_sum(uint16_t a, uint16_t b) {
  return bfloat16_from_float(float_from_bfloat16(a) + float_from_bfloat16(b));
}

/// Adds one number of 16 bits, or two of them.
template <class T>
T add_narrow(T* p, T value, uint16_t (*sum)(uint16_t a, uint16_t b), const void* pc) {
  Executor& ex = *running;
  ex.in_turn(p);
  if (ex.trace != nullptr) {
    ex.trace->access(p, sizeof(T), kWrite | kAtomic, pc);
    ex.trace->atomic_at(p);
  }
  const T old = *p;
  uint32_t both = sum(uint16_t(old), uint16_t(value));
  if constexpr (sizeof(T) == 4) both |= uint32_t(sum(uint16_t(old >> 16), uint16_t(value >> 16))) << 16;
  *p = T(both);
  return old;
}

}  // namespace

uint32_t atomic_half2(uint32_t* p, uint32_t value) {
  return add_narrow(p, value, half_sum, __builtin_return_address(0));
}
uint16_t atomic_half(uint16_t* p, uint16_t value) {
  return add_narrow(p, value, half_sum, __builtin_return_address(0));
}
uint32_t atomic_bfloat162(uint32_t* p, uint32_t value) {
  return add_narrow(p, value, bfloat16_sum, __builtin_return_address(0));
}
uint16_t atomic_bfloat16(uint16_t* p, uint16_t value) {
  return add_narrow(p, value, bfloat16_sum, __builtin_return_address(0));
}

void atomic_floats(float* p, int count, float x, float y, float z, float w, float* old) {
  Executor& ex = *running;
  ex.in_turn(p);
  if (ex.trace != nullptr) {
    ex.trace->access(p, size_t(count) * sizeof(float), kWrite | kAtomic, __builtin_return_address(0));
    ex.trace->atomic_at(p);
  }
  const float added[4] = {x, y, z, w};
  for (int k = 0; k < count; ++k) {
    if (old != nullptr) old[k] = p[k];
    // Without denormals, as sums of single floats in global memory.
    p[k] = without_denormals(without_denormals(p[k]) + without_denormals(added[k]));
  }
}

void add_halves(void* p, int words, const uint32_t* values, bool bfloat16, const char* file, int line) {
  Executor& ex = *running;
  const size_t bytes = size_t(words) * 4;
  if (reinterpret_cast<uintptr_t>(p) % bytes != 0)
    ex.abandon({.kind = Kind::misaligned,
                .file = file,
                .line = line,
                .text = "red.global.add of " + std::to_string(bytes) + " bytes at no multiple of that"});
  ex.in_turn(p);
  if (ex.trace != nullptr) {
    ex.trace->access(p, bytes, kWrite | kAtomic, __builtin_return_address(0));
    ex.trace->atomic_at(p);
  }
  const auto sum = bfloat16 ? bfloat16_sum : half_sum;
  auto* const to = static_cast<uint16_t*>(p);
  for (int k = 0; k < 2 * words; ++k) to[k] = sum(to[k], uint16_t(values[k / 2] >> (16 * (k % 2))));
}

}  // namespace klab::simt
