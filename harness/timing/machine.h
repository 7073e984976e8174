// What this machine and this build are: the record every measurement carries.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace klab {

/// One level of data or unified cache.
struct CacheLevel {
  int level = 0;
  int64_t bytes = 0;  // of one instance
  int shared_by = 1;  // hardware threads that share an instance
  friend bool operator==(const CacheLevel&, const CacheLevel&) = default;
};

struct Machine {
  std::string processor;        // "AMD EPYC", as the processor names itself
  std::string architecture;     // "x86_64"
  std::string instruction_set;  // the Highway target that dispatch chooses here: "AVX3_DL"
  int cores = 0;                // physical cores this process may use
  int threads = 0;              // hardware threads this process may use
  std::vector<CacheLevel> caches;
  int64_t memory = 0;      // bytes, total; 0: the system does not tell
  std::string huge_pages;  // "always", "madvise", "never", "unknown": the kernel's transparent huge pages
  std::string os;          // distribution and kernel
  std::string compiler;    // "GNU 12.2.0"
  std::string flags;       // "Release: -O3 -DNDEBUG ..."
  std::string commit;      // git describe, or "unknown" outside a checkout
  bool dirty = false;      // the checkout has changes that are not committed
  std::map<std::string, std::string> libraries;  // peers and tools: "oneDNN" -> "2.6.3", or "none"
  std::string gpu = "none";
  std::string gpu_driver = "none";
  std::string gpu_clocks = "none";
  bool cache_by_hand = false;        // the last-level cache's size is that of KLAB_LAST_LEVEL_CACHE
  std::vector<std::string> assumed;  // what could not be read, and what takes its place: a line each
};

/// Environment variable that gives the size of the last-level cache: "300MB", "2MiB".
inline constexpr const char* kCacheVariable = "KLAB_LAST_LEVEL_CACHE";

/// Instruction sets for vectors that this processor has and klab was compiled for, best first, by Highway's names
/// ("AVX3", "AVX2", "SSE4"). The last one is what the compiler assumed throughout.
std::vector<std::string> instruction_sets();

/// From now on variants run with that one, and this_machine() says so when it is first asked afterwards. A library that
/// variants are compared with keeps its own choice. Throws std::invalid_argument naming those there are, or how to build that one.
void use_instruction_set(const std::string& name);

/// Says why `name` cannot be used, and what to do. The others are bits of Highway: what kernels were compiled for, what they can be
/// compiled for, and what the processor has.
std::string no_instruction_set(const std::string& name, int64_t built, int64_t buildable, int64_t processor);

/// Looked up once a process. Throws std::invalid_argument, one line, where KLAB_LAST_LEVEL_CACHE is no size.
const Machine& this_machine();

/// Throws std::invalid_argument, one line, where KLAB_LAST_LEVEL_CACHE is set and is no size.
void require_cache_variable();

/// The record of a machine whose /proc, /sys and /etc lie in `root`; `last_level` is the text of KLAB_LAST_LEVEL_CACHE, empty
/// where it is not set.
Machine machine_from(const std::string& root, const std::string& last_level = "");

/// Size of the cache of that level, of one instance; 0 when the machine has none or hides it.
int64_t cache_bytes(const Machine& machine, int level);

/// Size of the last-level cache; a cautious 32 MiB where the machine hides it.
int64_t last_level_bytes(const Machine& machine);

/// Memory that can be used now without swapping and within the process's limit on address space, in bytes.
int64_t free_memory();

/// 16 hexadecimal digits over what decides how fast a binary runs and stays the same over reboots and
/// commits: processor, instruction set, cores, caches, memory (to the GiB), huge pages, compiler, flags, GPU.
/// Kernel version, clocks, commit and load stay out.
std::string fingerprint(const Machine& machine);

/// The record, fingerprint included.
nlohmann::json to_json(const Machine& machine);

}  // namespace klab
