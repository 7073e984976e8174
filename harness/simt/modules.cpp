#include "harness/simt/modules.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <stdexcept>

#include "harness/simt/entered.h"
#include "harness/simt/unset.h"

// Defined in the library that stand-alone programs are linked with (harness/cuda_program).
extern "C" __attribute__((weak)) const char klab_runtime_of_programs;

namespace klab::simt {
namespace {
namespace fs = std::filesystem;

std::mutex modules_mutex;
// Running kernels read it without the lock: elements of a deque do not move, and the count is set last.
std::deque<Module>& modules() {
  static auto& list = *new std::deque<Module>;  // never freed: destructors at exit may still use it
  return list;
}

struct Search {
  const char* inside;
  Module* module;
  void* shared = nullptr;
  size_t shared_bytes = 0;
};

int visit(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  uintptr_t begin = UINTPTR_MAX, end = 0, writable_begin = UINTPTR_MAX, writable_end = 0;
  size_t shared = 0;
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    const auto& segment = info->dlpi_phdr[k];
    const uintptr_t from = info->dlpi_addr + segment.p_vaddr, to = from + segment.p_memsz;
    if (segment.p_type == PT_TLS) shared = segment.p_memsz;
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, from);
    end = std::max(end, to);
    if (segment.p_flags & PF_W) {
      writable_begin = std::min(writable_begin, from);
      writable_end = std::max(writable_end, to);
    }
  }
  const auto at = reinterpret_cast<uintptr_t>(search.inside);
  if (at < begin || at >= end) return 0;
  if (search.module != nullptr) {
    search.module->begin = reinterpret_cast<const char*>(begin);
    search.module->end = reinterpret_cast<const char*>(end);
    search.module->writable_begin = reinterpret_cast<const char*>(writable_begin);
    search.module->writable_end = reinterpret_cast<const char*>(writable_end);
  }
  search.shared = info->dlpi_tls_data;
  search.shared_bytes = shared;
  return 1;
}

/// Reads the list of an object's atomics: the places behind their calls, and those where their results are used.
void read_atomics(Module& m, const char* begin, const char* end) {
  struct Entry {
    int32_t from_here, used;
  };
  for (const char* at = begin; end - at >= std::ptrdiff_t(sizeof(Entry)); at += sizeof(Entry)) {
    Entry e;
    std::memcpy(&e, at, sizeof e);
    (e.used != 0 ? m.uses : m.calls).push_back(at + e.from_here);
  }
  std::ranges::sort(m.calls);
  std::ranges::sort(m.uses);
}

fs::path module_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder :
       {program, program / "lib", program.parent_path(), program.parent_path() / "lib"})
    if (!folder.empty() && fs::exists(folder / "libklab_cuda_host.so", error)) return folder;
  return {};
}

/// Loads the module at program start, so that its variants are registered like those that are linked in.
const bool loaded = [] {
  if (&klab_runtime_of_programs != nullptr) return false;
  const fs::path folder = module_folder();
  if (!folder.empty()) load_module(folder / "libklab_cuda_host.so", false);
  return true;
}();

}  // namespace

const Module& load_module(const std::string& path, bool traced) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error("cannot load " + path + ": " + dlerror());
  Module m{.path = path, .traced = traced};
  m.anchor = reinterpret_cast<void* (*)()>(dlsym(handle, "klab_simt_anchor"));
  if (m.anchor == nullptr) throw std::runtime_error(path + " is no module of CUDA variants");
  Search search{reinterpret_cast<const char*>(m.anchor), &m};
  dl_iterate_phdr(visit, &search);
  if (auto* constant =
          reinterpret_cast<void (*)(const char**, const char**)>(dlsym(handle, "klab_simt_constant")))
    constant(&m.constant_begin, &m.constant_end);
  if (auto* atomics =
          reinterpret_cast<void (*)(const char**, const char**)>(dlsym(handle, "klab_simt_atomics"))) {
    const char *begin = nullptr, *end = nullptr;
    atomics(&begin, &end);
    read_atomics(m, begin, end);
  }
  if (traced) mark_branches_of(m);
  const std::lock_guard lock(modules_mutex);
  return modules().emplace_back(std::move(m));
}

const Module& adopt_module(const ProgramModule& p) {
  unset_words_exist = unset_words_exist || p.traced;
  Module m{.path = "the program", .traced = p.traced};
  m.anchor = p.anchor;
  m.arena = p.arena;
  m.constant_begin = p.constant_begin;
  m.constant_end = p.constant_end;
  read_atomics(m, p.atomics_begin, p.atomics_end);
  for (int k = 0; k < 2; ++k) {
    m.device_begin[k] = p.device_begin[k];
    m.device_end[k] = p.device_end[k];
  }
  Search search{reinterpret_cast<const char*>(m.anchor), &m};
  dl_iterate_phdr(visit, &search);
  const auto watch = [](const char* begin, const char* end) {
    if (begin == end) return;
    watched_begin = watched_begin == nullptr ? begin : std::min(watched_begin, begin);
    watched_end = std::max(watched_end, end);
  };
  for (int k = 0; k < 2; ++k) watch(m.device_begin[k], m.device_end[k]);
  if (m.arena != nullptr) watch(m.constant_begin, m.constant_end);
  const std::lock_guard lock(modules_mutex);
  return modules().emplace_back(std::move(m));
}

bool load_traced_variants() {
  static const bool done = [] {
    const fs::path folder = module_folder();
    std::error_code error;
    if (folder.empty() || !fs::exists(folder / "libklab_cuda_host_traced.so", error)) return false;
    load_module(folder / "libklab_cuda_host_traced.so", true);
    return true;
  }();
  return done;
}

const Module* module_at(const void* p) {
  const auto* c = static_cast<const char*>(p);
  for (const Module& m : modules())
    if (c >= m.begin && c < m.end) return &m;
  return nullptr;
}

bool result_is_used(const void* return_address) {
  // The place of the call lies right behind it. Another call, which has none (an exchange), is followed by more than that before the
  // next. The place of the use comes before the next call's; the compiler may put the value aside first.
  constexpr std::ptrdiff_t kNear = 32;
  const Module* const m = module_at(return_address);
  if (m == nullptr) return true;
  const auto* const from = static_cast<const char*>(return_address);
  const auto call = std::ranges::lower_bound(m->calls, from);
  if (call == m->calls.end() || *call - from > kNear)
    return true;  // of std::atomic, of an exchange, or of the executor itself
  const auto use = std::ranges::lower_bound(m->uses, from);
  if (use == m->uses.end()) return false;
  return std::next(call) == m->calls.end() || *use < *std::next(call);
}

void shared_of(const Module& module, char** begin, size_t* bytes) {
  thread_local std::vector<std::pair<const Module*, Search>> known;
  for (const auto& [m, search] : known)
    if (m == &module) {
      *begin = static_cast<char*>(search.shared);
      *bytes = search.shared_bytes;
      return;
    }
  Search search{module.begin, nullptr};
  module.anchor();  // creates this thread's copy, which exists only after first use
  dl_iterate_phdr(visit, &search);
  known.emplace_back(&module, search);
  *begin = static_cast<char*>(search.shared);
  *bytes = search.shared_bytes;
}

}  // namespace klab::simt
