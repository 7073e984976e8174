// Reads the symbols and debug information of a module: functions, source lines, shared variables.
#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "harness/simt/debug_info.h"
#include "harness/simt/modules.h"
#include "harness/simt/program_symbols.h"

namespace klab::simt {
namespace {

std::mutex dwarf_mutex;  // libdw is not thread-safe

/// This process as libdw sees it. Rebuilt after modules have been loaded.
class Debug {
 public:
  Debug() {
    static char* no_path = nullptr;
    static const Dwfl_Callbacks callbacks{.find_elf = dwfl_linux_proc_find_elf,
                                          .find_debuginfo = dwfl_standard_find_debuginfo,
                                          .section_address = nullptr,
                                          .debuginfo_path = &no_path};
    dwfl_ = dwfl_begin(&callbacks);
    if (dwfl_ == nullptr) return;
    dwfl_report_begin(dwfl_);
    dwfl_linux_proc_report(dwfl_, getpid());
    dwfl_report_end(dwfl_, nullptr, nullptr);
  }
  Dwfl_Module* at(const void* p) {
    Dwfl_Module* module = dwfl_ ? dwfl_addrmodule(dwfl_, Dwarf_Addr(p)) : nullptr;
    if (module == nullptr) return nullptr;
    // libdw attributes addresses just after a module to it, but another module may be loaded there now.
    Dwarf_Addr begin = 0, end = 0;
    dwfl_module_info(module, nullptr, &begin, &end, nullptr, nullptr, nullptr, nullptr);
    return Dwarf_Addr(p) >= begin && Dwarf_Addr(p) < end ? module : nullptr;
  }

 private:
  Dwfl* dwfl_ = nullptr;
};

Debug& debug_for(const void* p) {
  // lives as long as the process
  static auto& debug = *new std::unique_ptr<Debug>(std::make_unique<Debug>());
  if (debug->at(p) == nullptr) debug = std::make_unique<Debug>();
  return *debug;
}

/// Returns whether a file of klab emulates what CUDA has built in.
bool is_emulation(const char* file) {
  return std::strstr(file, "harness/simt/") != nullptr || std::strstr(file, "klab_cuda/") != nullptr ||
         std::strstr(file, "klab_libraries/") != nullptr || std::strstr(file, "/cublas") != nullptr ||
         std::strstr(file, "/curand") != nullptr || std::strstr(file, "kernels/common/cuda") != nullptr ||
         std::strstr(file, "kernels/common/mma.h") != nullptr;
}

/// Returns whether a file is no part of the program: klab's emulation, or libcu++ and CUB of a toolkit.
bool is_foreign(const char* file) { return is_emulation(file) || std::strstr(file, "/cccl/") != nullptr; }

/// Returns the innermost inlined frame whose file does not lie where `is_skipped` says.
SourceLine find_source(const void* return_address, bool (*is_skipped)(const char* file)) {
  const auto address = Dwarf_Addr(return_address) - 1;  // -1: inside the call
  Dwfl_Module* module = debug_for(return_address).at(return_address);
  if (module == nullptr) return {};
  SourceLine best;
  if (Dwfl_Line* line = dwfl_module_getsrc(module, address)) {
    int number = 0;
    if (const char* file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr)) {
      best = {file, number};
      if (!is_skipped(file)) return best;
    }
  }
  // The address is in a function that is skipped: walk outwards through the calls that were inlined here.
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
  if (unit == nullptr) return best;
  Dwarf_Die* innermost_scope = nullptr;
  if (dwarf_getscopes(unit, address - bias, &innermost_scope) <= 0) return best;
  // These scopes continue with the place where the inlined function was written. Querying the entry itself
  // continues with the place where it was called.
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&innermost_scope[0], &scopes);
  std::free(innermost_scope);
  Dwarf_Files* files = nullptr;
  dwarf_getsrcfiles(unit, &files, nullptr);
  for (int i = 0; i < count; ++i) {
    if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &file) != 0) continue;
    dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &line);
    const char* name = files ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
    if (name == nullptr) continue;
    best = {name, int(line)};
    if (!is_skipped(name)) break;
  }
  std::free(scopes);
  return best;
}

bool is_library(const char* file) {
  return file != nullptr && (std::strstr(file, "/thrust/") != nullptr ||
                             std::strstr(file, "/cub/") != nullptr || std::strstr(file, "/cccl/") != nullptr);
}

/// Returns whether the code at an address, or code that it was inlined into, is a library's.
bool is_library_code(const void* return_address) {
  const auto address = Dwarf_Addr(return_address) - 1;
  Dwfl_Module* module = debug_for(return_address).at(return_address);
  if (module == nullptr) return false;
  if (Dwfl_Line* line = dwfl_module_getsrc(module, address); line != nullptr)
    if (is_library(dwfl_lineinfo(line, nullptr, nullptr, nullptr, nullptr, nullptr))) return true;
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
  Dwarf_Die* scopes = nullptr;
  const int count = unit != nullptr ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
  bool found = false;
  for (int i = 0; i < count && !found; ++i) found = is_library(dwarf_decl_file(&scopes[i]));
  std::free(scopes);
  return found;
}

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

/// Shortens "void klab::(anonymous namespace)::f<32>(float const*)" to "f<32>".
std::string unqualified(const std::string& full) {
  int depth = 0;
  size_t end = full.size(), begin = 0;
  for (size_t i = 0; i < full.size(); ++i) {
    const char c = full[i];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == '(' && full.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20;
      continue;
    }
    if (c == '(') {
      end = i;
      break;
    }
    if (c == ':' || c == ' ') begin = i + 1;
  }
  return full.substr(begin, end - begin);
}

/// Restores the name of a program's kernel, whose body was renamed: "k__klab3<float>" -> "k<float>"
/// (harness/cuda_compiler/kernels.cpp).
std::string as_written(std::string name) {
  const size_t at = name.find("__klab");
  if (at == std::string::npos) return name;
  size_t end = at + 6;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  return name.erase(at, end - at);
}

const char* mangled_at(const void* p) {
  Dwfl_Module* module = debug_for(p).at(p);
  return module ? dwfl_module_addrname(module, Dwarf_Addr(p)) : nullptr;
}

/// Returns the unit of a symbol. Local symbols follow that of their object file, whose index distinguishes
/// files, and kernels in them, with equal names. Global symbols have no unit, -1.
int unit_of(int index, const GElf_Sym& symbol, int before) {
  if (GELF_ST_TYPE(symbol.st_info) == STT_FILE) return index;
  return GELF_ST_BIND(symbol.st_info) == STB_LOCAL ? before : -1;
}

/// Returns whether a variable with that unit and function belongs to a kernel. Local functions in several
/// units may share a name. Functions with external linkage are identified by name, in whichever unit the
/// linker shows them.
bool is_of(const SharedVariable& v, const std::string& kernel, int unit) {
  const bool local = kernel.find("_GLOBAL__N_") != std::string::npos || kernel.compare(0, 3, "_ZL") == 0;
  return v.function == kernel && (!local || v.unit == unit);
}

std::vector<SharedVariable> find_shared(const Module& m) {
  std::vector<SharedVariable> list;
  Dwfl_Module* module = debug_for(m.begin).at(m.begin);
  if (module == nullptr) return list;
  const int symbols = dwfl_module_getsymtab(module);
  int unit = -1;
  std::set<std::string> functions;
  for (int i = 0; i < symbols; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;  // unused: the value of a thread-local variable is an offset, not an address
    const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name != nullptr) unit = unit_of(i, symbol, unit);
    if (name != nullptr && GELF_ST_TYPE(symbol.st_info) == STT_FUNC) functions.insert(name);
    if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_shndx == 0) continue;
    const std::string whole = name, text = demangled(name);
    const SharedVariable at_file_scope{.name = unqualified(text),
                                       .function = {},
                                       .unit = unit,
                                       .offset = size_t(symbol.st_value),
                                       .bytes = size_t(symbol.st_size)};
    // _ZZ <function> E <name>: a variable in a function. Its function's symbol is _Z <function>.
    if (std::strncmp(name, "_ZZ", 3) != 0) {
      if (std::strncmp(name, "klab_", 5) != 0) list.push_back(at_file_scope);
      continue;
    }
    const size_t last = text.rfind("::");
    // Split at the last E that is followed by the length of the variable's name.
    size_t split = std::string::npos;
    for (size_t k = 3; k + 1 < whole.size(); ++k)
      if (whole[k] == 'E' && whole[k + 1] >= '1' && whole[k + 1] <= '9') split = k;
    if (split == std::string::npos) continue;
    list.push_back({.name = last == std::string::npos ? text : text.substr(last + 2),
                    .function = "_Z" + whole.substr(3, split - 3),
                    .unit = unit,
                    .offset = size_t(symbol.st_value),
                    .bytes = size_t(symbol.st_size)});
  }
  for (SharedVariable& v : list) v.inlined = !v.function.empty() && functions.count(v.function) == 0;
  return list;
}

}  // namespace

SourceLine source_of(const void* return_address) {
  static auto& known = *new std::map<const void*, SourceLine>;
  const std::lock_guard lock(dwarf_mutex);
  const auto [at, fresh] = known.try_emplace(return_address);
  if (fresh) at->second = find_source(return_address, is_foreign);
  return at->second;
}

LibraryPart library_part_at(const void* return_address) {
  static auto& known = *new std::map<const void*, LibraryPart>;
  const std::lock_guard lock(dwarf_mutex);
  const auto [at, fresh] = known.try_emplace(return_address, LibraryPart::none);
  if (!fresh) return at->second;
  const std::string file = find_source(return_address, is_emulation).file;
  const bool is_cub =
      file.find("/cccl/cub/") != std::string::npos || file.find("/include/cub/") != std::string::npos;
  if (is_cub)
    at->second = file.find("merge") != std::string::npos ? LibraryPart::merge : LibraryPart::cub;
  else if (file.find("/cccl/") != std::string::npos)
    at->second = LibraryPart::other;
  return at->second;
}

bool is_within_library(const void* return_address) {
  static auto& known = *new std::map<const void*, bool>;
  const std::lock_guard lock(dwarf_mutex);
  const auto [at, fresh] = known.try_emplace(return_address, false);
  if (!fresh) return at->second;
  std::array<void*, 64> frames{};
  const int count = backtrace(frames.data(), int(frames.size()));
  at->second = is_library_code(return_address);
  for (int k = 0; k < count && !at->second; ++k) at->second = is_library_code(frames[size_t(k)]);
  return at->second;
}

void each_unit(const Module& module, const std::function<void(Dwarf_Die* unit)>& each) {
  const std::lock_guard lock(dwarf_mutex);
  Dwfl_Module* m = debug_for(module.begin).at(module.begin);
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; m != nullptr && (unit = dwfl_module_nextcu(m, unit, &bias)) != nullptr;)
    each(unit);
}

void each_scope_at(const void* return_address, const std::function<void(Dwarf_Die* scope)>& each) {
  const auto address = reinterpret_cast<Dwarf_Addr>(return_address) - 1;
  const std::lock_guard lock(dwarf_mutex);
  Dwfl_Module* m = debug_for(return_address).at(return_address);
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = m != nullptr ? dwfl_module_addrdie(m, address, &bias) : nullptr;
  Dwarf_Die* deepest = nullptr;
  if (unit == nullptr || dwarf_getscopes(unit, address - bias, &deepest) <= 0) return;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&deepest[0], &scopes);
  for (int k = 0; k < count; ++k) each(&scopes[k]);
  std::free(scopes);
  std::free(deepest);
}

FunctionRange function_at(const void* return_address) {
  const auto address = reinterpret_cast<Dwarf_Addr>(return_address) - 1;
  const std::lock_guard lock(dwarf_mutex);
  Dwfl_Module* m = debug_for(return_address).at(return_address);
  GElf_Off offset = 0;
  GElf_Sym symbol{};
  if (m == nullptr ||
      dwfl_module_addrinfo(m, address, &offset, &symbol, nullptr, nullptr, nullptr) == nullptr)
    return {};
  const char* const begin = static_cast<const char*>(return_address) - 1 - offset;
  return {begin, begin + symbol.st_size};
}

std::string short_name(const std::string& mangled) {
  return as_written(unqualified(demangled(mangled.c_str())));
}

std::string function_name(const void* address) {
  static auto& known = *new std::map<const void*, std::string>;
  const std::lock_guard lock(dwarf_mutex);
  const auto [at, fresh] = known.try_emplace(address);
  if (fresh) {
    const char* mangled = mangled_at(address);
    at->second = mangled ? as_written(unqualified(demangled(mangled))) : "kernel";
  }
  return at->second;
}

std::vector<SharedVariable> shared_variables(const Module& module) {
  static auto& known = *new std::map<const Module*, std::vector<SharedVariable>>;
  const std::lock_guard lock(dwarf_mutex);
  const auto [at, fresh] = known.try_emplace(&module);
  if (fresh) at->second = find_shared(module);
  return at->second;
}

namespace {

/// The symbol table's entry for a kernel.
struct KernelSymbol {
  std::string name;  // mangled
  int unit = -1;     // as in SharedVariable
};
KernelSymbol find_kernel(const void* kernel) {
  Dwfl_Module* module = debug_for(kernel).at(kernel);
  if (module == nullptr) return {};
  const int symbols = dwfl_module_getsymtab(module);
  int unit = -1;
  for (int i = 0; i < symbols; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    if (name == nullptr) continue;
    unit = unit_of(i, symbol, unit);
    if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && address == Dwarf_Addr(kernel)) return {name, unit};
  }
  return {};
}

const KernelSymbol& kernel_symbol(const void* kernel) {
  static auto& known = *new std::map<const void*, KernelSymbol>;
  const auto [at, fresh] = known.try_emplace(kernel);
  if (fresh) at->second = find_kernel(kernel);
  return at->second;
}

}  // namespace

bool is_of_library(const void* kernel) {
  const std::lock_guard lock(dwarf_mutex);
  return kernel_symbol(kernel).name.starts_with("_ZN3cub");
}

namespace {

/// Returns the variables of a module, by address.
std::map<const char*, Allocation>& variables_of(const Module& m) {
  static auto& known = *new std::map<const Module*, std::map<const char*, Allocation>>;
  const auto [at, fresh] = known.try_emplace(&m);
  Dwfl_Module* module = fresh ? debug_for(m.begin).at(m.begin) : nullptr;
  const int symbols = module ? dwfl_module_getsymtab(module) : 0;
  for (int i = 0; i < symbols; ++i) {
    GElf_Sym symbol;
    GElf_Addr address = 0;
    const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
    auto* begin = reinterpret_cast<char*>(address);
    if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0 ||
        begin < m.writable_begin || begin >= m.writable_end || std::strncmp(name, "klab_guard", 10) == 0)
      continue;
    Allocation& a = at->second[begin];
    a.begin = a.guard_begin = begin;
    a.bytes = symbol.st_size;
    a.guard_end = begin + a.bytes;
    a.live = true;
    a.name = "__device__ " + unqualified(demangled(name));
  }
  return at->second;
}

}  // namespace

Allocation* device_variable_at(const void* p) {
  const Module* m = module_at(p);
  const auto* c = static_cast<const char*>(p);
  if (m == nullptr || c < m->writable_begin || c >= m->writable_end) return nullptr;
  const std::lock_guard lock(dwarf_mutex);
  auto& variables = variables_of(*m);
  auto at = variables.upper_bound(c);
  if (at == variables.begin()) return nullptr;
  Allocation& a = (--at)->second;
  if (c >= a.guard_end) return nullptr;
  if (a.shadow == nullptr) {  // static storage is initialized before a kernel runs, at least with zeros
    Cell* cells = shadow_of(a);
    for (size_t word = 0; word < (a.bytes + 3) / 4; ++word) cells[word].defined = 0xF;
  }
  return &a;
}

const Allocation* device_variable_near(const void* p) {
  const Module* m = module_at(p);
  const auto* c = static_cast<const char*>(p);
  const auto is_of_device = [&](int k) { return c >= m->device_begin[k] && c < m->device_end[k]; };
  if (m == nullptr || !(is_of_device(0) || is_of_device(1))) return nullptr;
  const std::lock_guard lock(dwarf_mutex);
  const auto& variables = variables_of(*m);
  const auto behind = variables.upper_bound(c);
  const Allocation* const before = behind != variables.begin() ? &std::prev(behind)->second : nullptr;
  if (behind == variables.end()) return before;
  const bool nearer = before == nullptr || behind->first - c < c - (before->begin + before->bytes);
  return nearer ? &behind->second : before;
}

Allocation* global_at(const void* p) { return is_device(p) ? allocation_at(p) : device_variable_at(p); }

size_t static_shared_bytes(const void* kernel) {
  static auto& known = *new std::map<const void*, size_t>;
  const Module* module = module_at(kernel);
  if (module == nullptr) return 0;
  const std::vector<SharedVariable> all = shared_variables(*module);
  const std::lock_guard lock(dwarf_mutex);
  const auto [at, fresh] = known.try_emplace(kernel, 0);
  if (!fresh) return at->second;
  const KernelSymbol& self = kernel_symbol(kernel);
  for (const SharedVariable& v : all)
    if (is_of(v, self.name, self.unit) || (v.unit == self.unit && v.inlined))
      at->second = (at->second + 15) / 16 * 16 + v.bytes;
  return at->second;
}

namespace {
/// Returns the part of a mangled name that numbers a program's kernel, or nothing. Lambdas in a kernel have it too.
std::string number_in_program(const std::string& mangled) {
  const size_t at = mangled.find("__klab");
  if (at == std::string::npos) return "";
  return mangled.substr(at, mangled.find_first_not_of("0123456789", at + 6) - at);
}
}  // namespace

std::vector<SharedVariable> shared_variables_of(const void* kernel) {
  static auto& kernels =
      *new std::map<const Module*, std::vector<std::string>>;  // mangled names of kernels that were queried
  const Module* module = module_at(kernel);
  if (module == nullptr) return {};
  const std::vector<SharedVariable> all = shared_variables(*module);
  const std::lock_guard lock(dwarf_mutex);
  const KernelSymbol& self = kernel_symbol(kernel);
  auto& others = kernels[module];
  if (std::find(others.begin(), others.end(), self.name) == others.end()) others.push_back(self.name);
  const std::string of_program = number_in_program(self.name);
  std::vector<SharedVariable> list;
  for (const SharedVariable& v : all) {
    // Programs' kernels have names of their own (harness/cuda_compiler/kernels.cpp).
    const bool of_a_kernel = std::find(others.begin(), others.end(), v.function) != others.end() ||
                             (!of_program.empty() && !number_in_program(v.function).empty() &&
                              number_in_program(v.function) != of_program);
    // Variables of templates and inline functions belong to no unit.
    const bool reachable = v.unit == self.unit || v.unit == -1;
    if (is_of(v, self.name, self.unit) || (reachable && !of_a_kernel)) list.push_back(v);
  }
  std::sort(list.begin(), list.end(),
            [](const SharedVariable& a, const SharedVariable& b) { return a.offset < b.offset; });
  return list;
}

std::string shared_name(const Module& module, size_t offset) {
  for (const SharedVariable& v : shared_variables(module))
    if (offset >= v.offset && offset < v.offset + v.bytes)
      return v.name + ", byte " + std::to_string(offset - v.offset);
  return "shared memory";
}

}  // namespace klab::simt
