// The functions that a CUDA file compiled for the host calls: the interface between kernels (in shared
// objects of their own) and the executor (in the program). Kept small, since every CUDA variant includes it
// twice.
//
// Functions that take `file` and `line` report in findings where they were called. Functions without these
// parameters use their return address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace klab::simt {

/// Return the indexes of the running thread. They do not change while a kernel function runs, so the compiler
/// may keep them.
__attribute__((const)) unsigned thread_x();
__attribute__((const)) unsigned thread_y();
__attribute__((const)) unsigned thread_z();
__attribute__((const)) unsigned block_x();
__attribute__((const)) unsigned block_y();
__attribute__((const)) unsigned block_z();
__attribute__((const)) unsigned block_dim_x();
__attribute__((const)) unsigned block_dim_y();
__attribute__((const)) unsigned block_dim_z();
__attribute__((const)) unsigned grid_dim_x();
__attribute__((const)) unsigned grid_dim_y();
__attribute__((const)) unsigned grid_dim_z();
__attribute__((const)) unsigned lane_index();

/// One kernel launch. `call(kernel, parameters)` runs one thread of it.
struct Launch {
  const void* kernel;
  void (*call)(const void* kernel, void* parameters);
  void* parameters;
  size_t parameter_bytes;
  unsigned grid[3];
  unsigned block[3];
  size_t shared_bytes;       // dynamic
  bool cooperative = false;  // all blocks run concurrently and may wait for the whole grid
};
/// Runs all blocks. Throws simt::Error with CUDA's name for the error.
void launch(const Launch& what);

/// Returns the dynamic shared memory of the running block.
void* dynamic_shared();
/// Sets cudaFuncAttributeMaxDynamicSharedMemorySize.
void allow_shared(const void* kernel, size_t bytes);

enum class Vote { sync, count, all, any };
/// Implements __syncthreads and its variants. Returns the vote over the block's threads.
int barrier(Vote vote, int predicate, const char* file, int line);

/// Waits for all threads of the grid. Allowed only in a cooperative launch.
void grid_barrier(const char* file, int line);

/// Waits until all lanes of `mask` that have not exited call with the same `what` and mask. Then one of them
/// runs act(slots, present) on the slots of all, and all continue.
enum class Meeting { syncwarp, shuffle, vote, match, reduce, active, matrix };
void meet(Meeting what, unsigned mask, void* slot, void (*act)(void* const* slots, unsigned present),
          const char* name, const char* file, int line);

enum class Shuffle { index, up, down, exclusive_or };
/// Returns the value of the lane that `how` and `by` select within segments of `width` lanes.
uint64_t shuffle(Shuffle how, unsigned mask, uint64_t value, int by, int width, const char* name,
                 const char* file, int line);
unsigned ballot(unsigned mask, bool predicate, const char* name, const char* file, int line);
unsigned match_any(unsigned mask, uint64_t value, const char* file, int line);
unsigned active_mask(const char* file, int line);

enum class Reduce { add, min, max, bit_and, bit_or, bit_xor };
uint32_t reduce(Reduce how, bool is_signed, unsigned mask, uint32_t value, const char* name, const char* file,
                int line);

enum class Atomic { add, max, min, exchange, bit_and, bit_or, bit_xor, compare, increment, decrement };
/// Flag in an Atomic: the compiler knows the operand. If all lanes of a warp use it on one address, a GPU
/// compiler lets one lane do it for all.
inline constexpr int kConstantOperand = 16;
/// These return the old value. `compare` exchanges if the old value is `expected`; `increment` and
/// `decrement` wrap around at `value`.
uint32_t atomic_i32(Atomic how, int32_t* p, uint32_t value, uint32_t expected);
uint32_t atomic_u32(Atomic how, uint32_t* p, uint32_t value, uint32_t expected);
uint64_t atomic_u64(Atomic how, uint64_t* p, uint64_t value, uint64_t expected, bool is_signed);
float atomic_f32(Atomic how, float* p, float value);
double atomic_f64(Atomic how, double* p, double value);
uint32_t atomic_half2(uint32_t* p, uint32_t value);
uint16_t atomic_half(uint16_t* p, uint16_t value);
uint32_t atomic_bfloat162(uint32_t* p, uint32_t value);
uint16_t atomic_bfloat16(uint16_t* p, uint16_t value);

/// Implements __threadfence: orders this block's writes before its next atomic, for blocks that see the
/// atomic.
void fence(bool whole_device);
/// Yields to other threads, for a thread that waits for one of them.
void pause();
[[noreturn]] void trap(const char* file, int line);
uint64_t clock_ticks();

/// Implements cp.async: copies the first `filled` of `bytes` from global to shared memory and zeroes the
/// rest. The data land when the thread waits for the group.
void copy_async(void* shared, const void* global, unsigned bytes, unsigned filled);
void copy_async_commit();
void copy_async_wait(int groups_left);

/// Reports a read or write that an emulated instruction makes for the calling lane.
void touch_from(const void* p, size_t bytes, bool write, const void* return_address);

/// Device memory functions. They throw simt::Error.
void* device_alloc(size_t bytes, const char* name);
void device_free(void* p);
void device_fill_zero(void* p, size_t bytes);
void device_copy(void* to, const void* from, size_t bytes);  // device to device
void device_upload(void* device, const void* host, size_t bytes);
/// Copies to the host. Memory that was never written keeps its fill pattern, so a comparison reveals it.
void device_download(void* host, const void* device, size_t bytes);
/// Counts a copy between host and device when it is issued, by stream (Bus). The copies above are not
/// counted.
void host_copy(int stream, bool up, size_t bytes);
void host_copies_joined();
/// Returns a number below `below`, the next of a sequence that the session's seed starts.
unsigned random_turn(unsigned below);
/// Takes and returns memory for one run() of a variant, which is kept for the next run. Its contents are
/// undefined.
void* scratch_take(size_t bytes);
void scratch_give(void* p);

/// The device that kernels see, and whose limits launches must meet.
struct DeviceLimits {
  const char* name;
  int multiprocessors;
  size_t shared_per_block;        // bytes without opt-in
  size_t shared_per_block_optin;  // bytes, with opt-in
  size_t shared_per_multiprocessor;
  int registers_per_multiprocessor;
  int threads_per_multiprocessor;
  int compute_capability;  // 90
};
const DeviceLimits& device_limits();

/// Conversions that round as the GPU does: to nearest, ties to even.
__attribute__((const)) uint16_t half_from_float(float x);
__attribute__((const)) uint16_t half_from_double(double x);
__attribute__((const)) float float_from_half(uint16_t bits);
__attribute__((const)) uint16_t bfloat16_from_float(float x);
__attribute__((const)) uint16_t bfloat16_from_double(double x);
__attribute__((const)) uint16_t half_toward(float x, int direction);  // -1 down, 0 toward zero, 1 up
__attribute__((const)) uint16_t half_fma(uint16_t a, uint16_t b, uint16_t c);
__attribute__((const)) uint16_t bfloat16_fma(uint16_t a, uint16_t b, uint16_t c);
__attribute__((const)) inline float float_from_bfloat16(uint16_t bits) {
  return __builtin_bit_cast(float, uint32_t(bits) << 16);
}

/// Warp-wide matrix instructions. Each lane passes its registers.
enum class MatrixType { f16, bf16, tf32 };
void mma_16_8(MatrixType type, float* d, const uint32_t* a, const uint32_t* b, const float* c,
              const char* file, int line);
/// Multiplies matrices of signed bytes: m16n8k32, with 32-bit integer sums.
void mma_16_8_bytes(int* d, const uint32_t* a, const uint32_t* b, const int* c, const char* file, int line);
void load_matrix(uint32_t* r, int matrices, bool transposed, const void* row, const char* file, int line);

}  // namespace klab::simt
