#include "harness/timing/machine.h"

#include <hwy/highway.h>
#include <hwy/targets.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "harness/core/build_info.h"
#include "harness/core/bytes.h"
#include "harness/core/instruction_sets.h"
#include "harness/core/project_info.h"
#include "harness/core/tile_unit.h"
#include "harness/gpu/gpu.h"

namespace klab {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Value of the first line "key<separator>value" in a file; empty when there is none.
std::string value_of(const std::string& path, const std::string& key, char separator) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string name = line.substr(0, at);
    name.erase(name.find_last_not_of(" \t") + 1);
    if (name != key) continue;
    const size_t begin = line.find_first_not_of(" \t\"", at + 1);
    if (begin == std::string::npos) return {};
    return line.substr(begin, line.find_last_not_of(" \t\"") + 1 - begin);
  }
  return {};
}

/// "32K", "1024K", "32M" -> bytes; 0 when it is no size.
int64_t size_text(const std::string& text) {
  std::istringstream in(text);
  int64_t number = 0;
  char unit = ' ';
  if (!(in >> number) || number < 0) return 0;
  in >> unit;
  if (unit != ' ' && number > (int64_t(1) << 32)) return 0;
  return unit == 'G' ? number << 30 : unit == 'M' ? number << 20 : unit == 'K' ? number << 10 : number;
}

constexpr int64_t kLargestCache = int64_t(1) << 40;  // bytes: more is no cache's size
constexpr int kMostLevels = 8;
constexpr int64_t kAssumedCache = int64_t(32) << 20;

/// "0-3,8" -> 5.
int count_of_list(const std::string& text) {
  std::istringstream in(text);
  int count = 0;
  for (std::string part; std::getline(in, part, ',');) {
    int low = 0, high = 0;
    const int fields = std::sscanf(part.c_str(), "%d-%d", &low, &high);
    if (fields == 1) ++count;
    if (fields == 2 && low >= 0 && high >= low && high < CPU_SETSIZE * 64) count += high - low + 1;
  }
  return std::max(count, 1);
}

std::vector<int> usable_processors() {
  std::vector<int> list;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) list.push_back(i);
  if (list.empty())
    for (int i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); ++i) list.push_back(i);
  if (list.empty()) list.push_back(0);
  return list;
}

std::string processor_name(const std::string& root) {
  const std::string file = root + "/proc/cpuinfo";
  for (const char* key : {"model name", "Processor", "cpu model", "uarch"})
    if (const std::string name = value_of(file, key, ':'); !name.empty()) return name;
  const std::string maker = value_of(file, "CPU implementer", ':');
  if (!maker.empty()) return "implementer " + maker + " part " + value_of(file, "CPU part", ':');
  return "unknown";
}

bool is_whole(const std::string& text) {
  const size_t begin = text.starts_with('-') ? 1 : 0;  // "-1": a kernel that knows no packages
  return text.size() > begin && text.find_first_not_of("0123456789", begin) == std::string::npos;
}

/// 0 where the system does not tell.
int physical_cores(const std::string& root, const std::vector<int>& processors) {
  std::set<std::string> cores;
  for (const int p : processors) {
    const std::string topology = root + "/sys/devices/system/cpu/cpu" + std::to_string(p) + "/topology/";
    const std::string core = first_line(topology + "core_id");
    if (!is_whole(core)) return 0;
    cores.insert(first_line(topology + "physical_package_id") + "/" + core);
  }
  return int(cores.size());
}

std::vector<CacheLevel> detect_caches(const std::string& root, int processor) {
  std::vector<CacheLevel> caches;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(processor) +
                               "/cache/index" + std::to_string(index) + "/";
    const std::string type = first_line(folder + "type");
    if (type != "Data" && type != "Unified") continue;
    const int64_t bytes = size_text(first_line(folder + "size"));
    const int level = int(size_text(first_line(folder + "level")));
    if (bytes > 0 && bytes <= kLargestCache && level > 0 && level <= kMostLevels)
      caches.push_back({level, bytes, count_of_list(first_line(folder + "shared_cpu_list"))});
  }
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  if (caches.empty() && root.empty()) {
    const std::pair<int, int> names[] = {
        {1, _SC_LEVEL1_DCACHE_SIZE}, {2, _SC_LEVEL2_CACHE_SIZE}, {3, _SC_LEVEL3_CACHE_SIZE}};
    for (const auto& [level, name] : names)
      if (const long bytes = sysconf(name); bytes > 0) caches.push_back({level, bytes, 1});
  }
#endif
  std::sort(caches.begin(), caches.end(), [](const auto& a, const auto& b) { return a.level < b.level; });
  return caches;
}

/// "always [madvise] never" -> "madvise".
std::string huge_pages(const std::string& root) {
  const std::string line = first_line(root + "/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t begin = line.find('['), end = line.find(']');
  if (begin == std::string::npos || end == std::string::npos) return "unknown";
  return line.substr(begin + 1, end - begin - 1);
}

/// Bytes behind "MemTotal:       24000000 kB"; 0 where there is no such number.
int64_t meminfo(const std::string& root, const std::string& key) {
  const int64_t kilobytes = size_text(value_of(root + "/proc/meminfo", key, ':'));
  return kilobytes > 0 && kilobytes < (int64_t(1) << 50) ? kilobytes << 10 : 0;
}

std::string operating_system(const std::string& root) {
  std::string name = value_of(root + "/etc/os-release", "PRETTY_NAME", '=');
  utsname u{};
  if (uname(&u) == 0) name += (name.empty() ? "" : ", ") + std::string(u.sysname) + " " + u.release;
  return name.empty() ? "unknown" : name;
}

/// Instruction sets that kernels are compiled for. A program without kernels has those of its ceilings' file.
int64_t compiled_targets() {
  const int64_t built = built_targets();
  return built != 0 ? built : HWY_TARGETS;
}

std::string instruction_set() {
  // The lowest bit is the best target; dynamic dispatch takes it where it was compiled in.
  const int64_t usable = hwy::SupportedTargets() & compiled_targets();
  return hwy::TargetName(usable & -usable);
}

// What the processor has, and of that what klab was compiled for, before any choice.
int64_t processor_targets() {
  static const int64_t all = hwy::SupportedTargets();
  return all;
}
int64_t usable_targets() { return processor_targets() & compiled_targets(); }

/// " with AMX (bf16, int8)", of what this process may use; empty where it has no tiles.
std::string tiles_of(const TileUnit& unit) {
  if (unit.state != TileUnit::State::usable) return "";
  std::string formats = unit.bf16 ? "bf16" : "";
  if (unit.int8) formats += formats.empty() ? "int8" : ", int8";
  return " with AMX (" + formats + ")";
}

/// "580.159.04, CUDA 13.0"; only the latter where the system does not tell more.
std::string gpu_driver(const Gpu& device) {
  // NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ...
  std::istringstream line(first_line("/proc/driver/nvidia/version"));
  for (std::string word; line >> word;)
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0 && word.find('.') != std::string::npos)
      return word + ", CUDA " + device.driver;
  return "CUDA " + device.driver;
}

int64_t last_level_from(const std::string& text) {
  int64_t bytes = 0;
  try {
    bytes = bytes_from(text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string(kCacheVariable) + " " + error.what());
  }
  if (bytes > kLargestCache)
    throw std::invalid_argument(std::string(kCacheVariable) + " must be at most 1TiB; found '" + text + "'");
  return bytes;
}

/// The last level gets the size that the user says; no level below it may be larger.
void take_by_hand(Machine& m, int64_t bytes) {
  if (m.caches.empty()) m.caches.push_back({3, bytes, m.threads});
  m.caches.back().bytes = bytes;
  for (CacheLevel& c : m.caches) c.bytes = std::min(c.bytes, bytes);
  m.cache_by_hand = true;
}

/// Says what could not be read, and puts in its place what is safe.
void assume_the_rest(Machine& m) {
  if (m.caches.empty())
    m.assumed.push_back("the system tells no cache's size: a last-level cache of " +
                        bytes_text(kAssumedCache) + " is assumed; set " + kCacheVariable +
                        " to its size, for example 300MB");
  if (m.cores == 0) {
    m.cores = m.threads;
    m.assumed.push_back(
        "the system does not tell which hardware threads share a core: " + std::to_string(m.cores) +
        (m.cores == 1 ? " core is" : " cores are") + " assumed, one a hardware thread");
  }
  if (m.memory == 0) {
    m.memory = std::max<int64_t>(0, int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE));
    m.assumed.push_back("/proc/meminfo has no MemTotal: " +
                        (m.memory > 0 ? bytes_text(m.memory) + " of memory are assumed, as the C library says"
                                      : std::string("how much memory there is stays unknown")));
  }
}

std::string cache_variable() {
  const char* text = std::getenv(kCacheVariable);
  return text == nullptr ? "" : text;
}

Machine look(const std::string& root) {
  Machine m;
  const auto processors = usable_processors();
  utsname u{};
  uname(&u);
  m.processor = processor_name(root);
  m.architecture = u.machine + tiles_of(tile_unit());
  m.instruction_set = instruction_set();
  m.cores = physical_cores(root, processors);
  m.threads = int(processors.size());
  m.caches = detect_caches(root, processors.front());
  m.memory = meminfo(root, "MemTotal");
  m.huge_pages = huge_pages(root);
  m.os = operating_system(root);
  const BuildInfo& build = build_info();
  m.compiler = build.compiler;
  m.flags = build.flags;
  m.commit = project_info().commit;
  m.dirty = project_info().dirty;
  m.libraries = {{"oneDNN", build.onednn},
                 {"OpenBLAS", build.openblas},
                 {"Google Benchmark", build.benchmark},
                 {"Highway", std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." +
                                 std::to_string(HWY_PATCH)}};
  if (const Gpu* device = gpu(); device != nullptr) {
    m.gpu = device->name;
    m.gpu_driver = gpu_driver(*device);
    if (device->clock > 0)
      m.gpu_clocks = std::to_string(device->clock) + " MHz, memory " + std::to_string(device->memory_clock) +
                     " MHz, at most";
  }
  return m;
}

}  // namespace

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (int64_t t = usable_targets(); t != 0; t &= t - 1) names.emplace_back(hwy::TargetName(t & -t));
  return names;
}

void use_instruction_set(const std::string& name) {
  for (int64_t t = usable_targets(); t != 0; t &= t - 1)
    if (name == hwy::TargetName(t & -t)) {
      hwy::SetSupportedTargetsForTest(t & -t);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      return;
    }
  if (name == "amx" || name == "AMX") {
    // Rungs with tiles use these wherever they can; vectors keep their best instruction set.
    if (tile_unit().state == TileUnit::State::usable) return;
    throw std::invalid_argument("--isa " + name + ": " + tile_unit().why);
  }
  throw std::invalid_argument(
      no_instruction_set(name, compiled_targets(), buildable_targets(), processor_targets()));
}

std::string no_instruction_set(const std::string& name, int64_t built, int64_t buildable, int64_t processor) {
  const int64_t asked = target_of_name(name);
  if ((asked & buildable & processor) == 0)
    return "no instruction set '" + name + "' here; there are " + target_names(built & processor);
  return "klab was built for " + target_names(built) +
         " only; build all with cmake -DKLAB_ISAS=all (or KLAB_ISAS=" + name + ")";
}

const Machine& this_machine() {
  static const Machine machine = machine_from("", cache_variable());
  return machine;
}

void require_cache_variable() {
  if (const std::string text = cache_variable(); !text.empty()) last_level_from(text);
}

Machine machine_from(const std::string& root, const std::string& last_level) {
  Machine m = look(root);
  if (!last_level.empty()) take_by_hand(m, last_level_from(last_level));
  assume_the_rest(m);
  return m;
}

int64_t cache_bytes(const Machine& machine, int level) {
  for (const CacheLevel& c : machine.caches)
    if (c.level == level) return c.bytes;
  return 0;
}

int64_t last_level_bytes(const Machine& machine) {
  return machine.caches.empty() ? kAssumedCache : machine.caches.back().bytes;
}

int64_t free_memory() {
  int64_t available = meminfo("", "MemAvailable");
  if (available <= 0) available = int64_t(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  // A container may allow less than the machine has.
  const int64_t limit = size_text(first_line("/sys/fs/cgroup/memory.max"));
  if (limit > 0)
    available = std::min(
        available, std::max<int64_t>(0, limit - size_text(first_line("/sys/fs/cgroup/memory.current"))));
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    const int64_t used = size_text(first_line("/proc/self/statm")) * sysconf(_SC_PAGESIZE);
    available = std::min(available, std::max<int64_t>(0, int64_t(space.rlim_cur) - used));
  }
  return available;
}

std::string fingerprint(const Machine& m) {
  constexpr int64_t gib = int64_t(1) << 30;
  std::ostringstream text;
  text << m.processor << '|' << m.architecture << '|' << m.instruction_set << '|' << m.cores << '|'
       << m.threads;
  for (const CacheLevel& c : m.caches) text << '|' << c.level << ':' << c.bytes << ':' << c.shared_by;
  text << '|' << (m.memory + gib / 2) / gib << '|' << m.huge_pages << '|' << m.compiler << '|' << m.flags
       << '|' << m.gpu;
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (const unsigned char c : text.str()) hash = (hash ^ c) * 0x100000001b3;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

nlohmann::json to_json(const Machine& m) {
  nlohmann::json caches = nlohmann::json::array();
  for (const CacheLevel& c : m.caches)
    caches.push_back({{"level", c.level}, {"bytes", c.bytes}, {"shared_by", c.shared_by}});
  return {{"fingerprint", fingerprint(m)},
          {"processor", m.processor},
          {"architecture", m.architecture},
          {"instruction_set", m.instruction_set},
          {"cores", m.cores},
          {"threads", m.threads},
          {"caches", caches},
          {"cache_by_hand", m.cache_by_hand},
          {"assumed", m.assumed},
          {"memory_bytes", m.memory},
          {"huge_pages", m.huge_pages},
          {"os", m.os},
          {"compiler", m.compiler},
          {"flags", m.flags},
          {"commit", m.commit},
          {"dirty", m.dirty},
          {"libraries", m.libraries},
          {"gpu", m.gpu},
          {"gpu_driver", m.gpu_driver},
          {"gpu_clocks", m.gpu_clocks}};
}

}  // namespace klab
