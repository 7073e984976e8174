// What a CUDA file compiled for the host calls: the border between kernels (in shared objects of their own) and
// the executor (in the program). Light on purpose: every CUDA variant includes it twice.
//
// Functions that take `file` and `line` say where they were called, in findings. Where a function has no such
// parameters its return address says it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace klab::simt {

/// Place of the running thread. They never change while a kernel's function runs, so the compiler may keep them.
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
  bool cooperative = false;  // blocks run beside each other, and may wait for all of the grid
};
/// Runs all blocks. Throws simt::Error with CUDA's name of what is wrong.
void launch(const Launch& what);

/// Dynamic shared memory of the running block.
void* dynamic_shared();
/// cudaFuncAttributeMaxDynamicSharedMemorySize.
void allow_shared(const void* kernel, size_t bytes);

enum class Vote { sync, count, all, any };
/// __syncthreads and its kin: returns the vote over the block's threads.
int barrier(Vote vote, int predicate, const char* file, int line);

/// Waits for all threads of the grid. Only in a cooperative launch.
void grid_barrier(const char* file, int line);

/// Lanes that meet: each waits until all of `mask` that have not exited are there, with the same `what` and mask;
/// then one of them runs act(slots, present), which finds what each lane brought, and all go on.
enum class Meeting { syncwarp, shuffle, vote, match, reduce, active, matrix };
void meet(Meeting what, unsigned mask, void* slot, void (*act)(void* const* slots, unsigned present),
          const char* name, const char* file, int line);

enum class Shuffle { index, up, down, exclusive_or };
/// Value of the lane that `how` and `by` name, within segments of `width` lanes.
uint64_t shuffle(Shuffle how, unsigned mask, uint64_t value, int by, int width, const char* name,
                 const char* file, int line);
unsigned ballot(unsigned mask, bool predicate, const char* name, const char* file, int line);
unsigned match_any(unsigned mask, uint64_t value, const char* file, int line);
unsigned active_mask(const char* file, int line);

enum class Reduce { add, min, max, bit_and, bit_or, bit_xor };
uint32_t reduce(Reduce how, bool is_signed, unsigned mask, uint32_t value, const char* name, const char* file,
                int line);

enum class Atomic { add, max, min, exchange, bit_and, bit_or, bit_xor, compare, increment, decrement };
/// Added to an Atomic whose operand the compiler knows: where all lanes of a warp come to one address with it, a compiler
/// for GPUs has one lane do it for all.
inline constexpr int kConstantOperand = 16;
/// Old value. `compare` exchanges when the old value is `expected`; `increment` and `decrement` wrap around at `value`.
uint32_t atomic_i32(Atomic how, int32_t* p, uint32_t value, uint32_t expected);
uint32_t atomic_u32(Atomic how, uint32_t* p, uint32_t value, uint32_t expected);
uint64_t atomic_u64(Atomic how, uint64_t* p, uint64_t value, uint64_t expected, bool is_signed);
float atomic_f32(Atomic how, float* p, float value);
double atomic_f64(Atomic how, double* p, double value);
uint32_t atomic_half2(uint32_t* p, uint32_t value);
uint16_t atomic_half(uint16_t* p, uint16_t value);

/// __threadfence: orders this block's writes before its next atomic, for blocks that see the atomic.
void fence(bool whole_device);
/// A thread that waits for another lets others run.
void pause();
[[noreturn]] void trap(const char* file, int line);
uint64_t clock_ticks();

/// cp.async: `bytes` from global to shared, of which the first `filled` are copied and the rest are zero. The data
/// land when the thread waits for the group.
void copy_async(void* shared, const void* global, unsigned bytes, unsigned filled);
void copy_async_commit();
void copy_async_wait(int groups_left);

/// A read or write that an emulated instruction makes on behalf of the calling lane.
void touch_from(const void* p, size_t bytes, bool write, const void* return_address);

/// Device memory. Throws simt::Error.
void* device_alloc(size_t bytes, const char* name);
void device_free(void* p);
void device_fill_zero(void* p, size_t bytes);
void device_copy(void* to, const void* from, size_t bytes);  // device to device
void device_upload(void* device, const void* host, size_t bytes);
/// Memory that nobody has written comes back as it is: whoever compares it will see.
void device_download(void* host, const void* device, size_t bytes);
/// Counts a copy between host and device where it is asked for, by stream (Bus); the copies above do not.
void host_copy(int stream, bool up, size_t bytes);
void host_copies_joined();
/// A number below `below`, the next one of a row that the session's seed begins.
unsigned random_turn(unsigned below);
/// Memory for one run() of a variant, kept for the next run; its content is undefined.
void* scratch_take(size_t bytes);
void scratch_give(void* p);

/// The device that kernels are told they run on, and whose limits launches are held to.
struct DeviceLimits {
  const char* name;
  int multiprocessors;
  size_t shared_per_block;        // bytes without opting in
  size_t shared_per_block_optin;  // bytes
  size_t shared_per_multiprocessor;
  int registers_per_multiprocessor;
  int threads_per_multiprocessor;
  int compute_capability;  // 90
};
const DeviceLimits& device_limits();

/// Conversions as the GPU rounds: to nearest, ties to even.
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

/// Warp-wide matrix instructions; each lane brings its registers.
enum class MatrixType { f16, bf16, tf32 };
void mma_16_8(MatrixType type, float* d, const uint32_t* a, const uint32_t* b, const float* c,
              const char* file, int line);
/// Of bytes with signs: m16n8k32, sums in 32-bit integers.
void mma_16_8_bytes(int* d, const uint32_t* a, const uint32_t* b, const int* c, const char* file, int line);
void load_matrix(uint32_t* r, int matrices, bool transposed, const void* row, const char* file, int line);

}  // namespace klab::simt
