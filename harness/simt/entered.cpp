#include "harness/simt/entered.h"

#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "harness/simt/debug_info.h"

extern "C" void __sanitizer_cov_trace_pc();

namespace klab::simt {

EnteredCode entered_code[kMarkedModules];
std::atomic<int> entered_modules{0};

namespace {

std::mutex entered_mutex;

struct CodeRange {
  const char* inside;
  const char *begin = nullptr, *end = nullptr;
};

/// Finds the executable segments of the object that contains an address.
int find_code(dl_phdr_info* info, size_t, void* data) {
  auto& range = *static_cast<CodeRange*>(data);
  CodeRange found{range.inside};
  bool holds = false;
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    const auto& segment = info->dlpi_phdr[k];
    if (segment.p_type != PT_LOAD) continue;
    const auto* begin = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const char* end = begin + segment.p_memsz;
    holds = holds || (range.inside >= begin && range.inside < end);
    if ((segment.p_flags & PF_X) == 0) continue;
    found.begin = found.begin == nullptr ? begin : std::min(found.begin, begin);
    found.end = std::max(found.end, end);
  }
  if (!holds) return 0;
  range = found;
  return 1;
}

/// Returns the return addresses of a module's calls of the hook. The modules are compiled without a table of such calls (-fno-plt): each is
/// "call *offset(%rip)" through a word that holds the hook's address.
std::vector<const char*> branches_in(const EnteredCode& code) {
  constexpr size_t kCall = 6;  // FF 15 and an offset of four bytes
  CodeRange range{code.begin};
  dl_iterate_phdr(find_code, &range);
  std::vector<const char*> list;
#if defined(__x86_64__)
  const auto hook = reinterpret_cast<uintptr_t>(&__sanitizer_cov_trace_pc);
  for (const char* at = range.begin; at != nullptr && at + kCall <= range.end; ++at) {
    if (at[0] != '\xFF' || at[1] != '\x15') continue;
    int32_t offset = 0;
    std::memcpy(&offset, at + 2, sizeof offset);
    const char* const word = at + kCall + offset;
    if (word < code.begin || word + sizeof hook > code.begin + code.bytes) continue;
    uintptr_t target = 0;
    std::memcpy(&target, word, sizeof target);
    if (target == hook) list.push_back(at + kCall);
  }
#endif
  return list;
}

/// The branches of a module, found once.
const std::vector<const char*>& known_branches(const EnteredCode& code) {
  static auto& known = *new std::map<const char*, std::vector<const char*>>;
  const auto [at, fresh] = known.try_emplace(code.begin);
  if (fresh) at->second = branches_in(code);
  return at->second;
}

/// The function that contains a branch; the branch alone where that is not known.
FunctionRange known_function(const char* branch) {
  static auto& known = *new std::map<const char*, FunctionRange>;  // by their ends
  const auto at = known.lower_bound(branch);
  if (at != known.end() && at->second.begin <= branch) return at->second;
  FunctionRange function = function_at(branch);
  if (function.end < branch || function.begin > branch) function = {branch, branch};
  known.emplace(function.end, function);
  return function;
}

bool is_marked(const EnteredCode& code, const char* branch) {
  return std::atomic_ref<uint8_t>(code.marks[branch - code.begin]).load(std::memory_order_relaxed) != 0;
}

}  // namespace

void mark_branches_of(const Module& module) {
  const std::lock_guard lock(entered_mutex);
  const int used = entered_modules;
  if (used == kMarkedModules) return;
  const auto bytes = size_t(module.end - module.begin);
  // Pages that are never written to take no memory; it lives as long as the module.
  auto* const marks = static_cast<uint8_t*>(std::calloc(bytes, 1));
  if (marks == nullptr) return;
  entered_code[used] = {module.begin, bytes, marks};
  entered_modules.store(used + 1, std::memory_order_release);
}

std::vector<int> lines_not_entered(const std::string& file) {
  const std::lock_guard lock(entered_mutex);
  std::set<int> entered, missed;
  for (int k = 0; k < entered_modules; ++k) {
    const EnteredCode& code = entered_code[k];
    const std::vector<const char*>& branches = known_branches(code);
    for (auto branch = branches.begin(); branch != branches.end();) {
      if (!is_marked(code, *branch)) {
        ++branch;
        continue;
      }
      const FunctionRange function = known_function(*branch);
      branch = std::ranges::lower_bound(branches, function.begin);
      for (; branch != branches.end() && *branch <= function.end; ++branch) {
        const SourceLine at = source_of(*branch);
        if (at.file == file) (is_marked(code, *branch) ? entered : missed).insert(at.line);
      }
    }
  }
  std::vector<int> lines;
  std::ranges::set_difference(missed, entered, std::back_inserter(lines));
  return lines;
}

}  // namespace klab::simt
