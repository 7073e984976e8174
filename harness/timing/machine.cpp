#include "harness/timing/machine.h"

#include <hwy/highway.h>
#include <hwy/targets.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "harness/core/build_info.h"
#include "harness/core/instruction_sets.h"
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
  if (!(in >> number)) return 0;
  in >> unit;
  return unit == 'G' ? number << 30 : unit == 'M' ? number << 20 : unit == 'K' ? number << 10 : number;
}

/// "0-3,8" -> 5.
int count_of_list(const std::string& text) {
  std::istringstream in(text);
  int count = 0;
  for (std::string part; std::getline(in, part, ',');) {
    int low = 0, high = 0;
    const int fields = std::sscanf(part.c_str(), "%d-%d", &low, &high);
    if (fields == 1) ++count;
    if (fields == 2) count += high - low + 1;
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
  return list;
}

std::string processor_name() {
  for (const char* key : {"model name", "Processor", "cpu model", "uarch"})
    if (const std::string name = value_of("/proc/cpuinfo", key, ':'); !name.empty()) return name;
  const std::string maker = value_of("/proc/cpuinfo", "CPU implementer", ':');
  if (!maker.empty()) return "implementer " + maker + " part " + value_of("/proc/cpuinfo", "CPU part", ':');
  return "unknown";
}

int physical_cores(const std::vector<int>& processors) {
  std::set<std::string> cores;
  for (const int p : processors) {
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(p) + "/topology/";
    const std::string core = first_line(topology + "core_id");
    if (core.empty()) return int(processors.size());
    cores.insert(first_line(topology + "physical_package_id") + "/" + core);
  }
  return int(cores.size());
}

std::vector<CacheLevel> detect_caches(int processor) {
  std::vector<CacheLevel> caches;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache/index" +
                               std::to_string(index) + "/";
    const std::string type = first_line(folder + "type");
    if (type != "Data" && type != "Unified") continue;
    const int64_t bytes = size_text(first_line(folder + "size"));
    const int level = int(size_text(first_line(folder + "level")));
    if (bytes > 0 && level > 0)
      caches.push_back({level, bytes, count_of_list(first_line(folder + "shared_cpu_list"))});
  }
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  if (caches.empty()) {
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
std::string huge_pages() {
  const std::string line = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t begin = line.find('['), end = line.find(']');
  if (begin == std::string::npos || end == std::string::npos) return "unknown";
  return line.substr(begin + 1, end - begin - 1);
}

/// Bytes behind "MemTotal:       24000000 kB".
int64_t meminfo(const std::string& key) { return size_text(value_of("/proc/meminfo", key, ':')) << 10; }

std::string operating_system() {
  std::string name = value_of("/etc/os-release", "PRETTY_NAME", '=');
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

/// "580.159.04, CUDA 13.0"; only the latter where the system does not tell more.
std::string gpu_driver(const Gpu& device) {
  // NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue ...
  std::istringstream line(first_line("/proc/driver/nvidia/version"));
  for (std::string word; line >> word;)
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0 && word.find('.') != std::string::npos)
      return word + ", CUDA " + device.driver;
  return "CUDA " + device.driver;
}

Machine look() {
  Machine m;
  const auto processors = usable_processors();
  utsname u{};
  uname(&u);
  m.processor = processor_name();
  m.architecture = u.machine;
  m.instruction_set = instruction_set();
  m.cores = physical_cores(processors);
  m.threads = int(processors.size());
  m.caches = detect_caches(processors.front());
  m.memory = meminfo("MemTotal");
  m.huge_pages = huge_pages();
  m.os = operating_system();
  const BuildInfo& build = build_info();
  m.compiler = build.compiler;
  m.flags = build.flags;
  m.commit = build.commit;
  m.dirty = build.dirty;
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
  static const Machine machine = look();
  return machine;
}

int64_t cache_bytes(const Machine& machine, int level) {
  for (const CacheLevel& c : machine.caches)
    if (c.level == level) return c.bytes;
  return 0;
}

int64_t last_level_bytes(const Machine& machine) {
  return machine.caches.empty() ? int64_t(32) << 20 : machine.caches.back().bytes;
}

int64_t free_memory() {
  int64_t available = meminfo("MemAvailable");
  if (available <= 0) available = int64_t(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  // A container may allow less than the machine has.
  const int64_t limit = size_text(first_line("/sys/fs/cgroup/memory.max"));
  if (limit > 0)
    available = std::min(
        available, std::max<int64_t>(0, limit - size_text(first_line("/sys/fs/cgroup/memory.current"))));
  return available;
}

namespace {

/// Seconds that all hardware threads were busy since the machine started, to the hundredth.
double busy_of_all() {
  std::ifstream in("/proc/stat");
  std::string name;
  int64_t busy = 0, value = 0;
  in >> name;
  // user, nice, system, idle, iowait, irq, softirq, steal
  for (int field = 0; field < 8 && in >> value; ++field)
    if (field != 3 && field != 4) busy += value;
  return double(busy) / double(sysconf(_SC_CLK_TCK));
}

double busy_of_own() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

OthersWork::OthersWork()
    : all_(busy_of_all()), own_(busy_of_own()), begin_(std::chrono::steady_clock::now()) {}

double OthersWork::threads() const {
  const double all = busy_of_all() - all_, own = busy_of_own() - own_;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return wall > 0 ? std::max(0.0, all - own) / wall : 0;
}

double busy_elsewhere(double seconds) {
  const OthersWork others;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return others.threads();
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
