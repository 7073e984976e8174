#include "harness/step/imports.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "harness/core/source.h"

namespace klab {
namespace {

/// Returns a part of a file; throws if the file is too short.
const char* part(const std::vector<char>& file, uint64_t at, uint64_t bytes) {
  if (at > file.size() || bytes > file.size() - at) throw std::runtime_error("cut off");
  return file.data() + at;
}

template <class T>
T read(const std::vector<char>& file, uint64_t at) {
  T value;
  std::memcpy(&value, part(file, at, sizeof value), sizeof value);
  return value;
}

std::string plain_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? name.get() : symbol;
}

bool is_one_of(const std::string& name, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(), [&](const char* x) { return name == x; });
}

bool begins(const std::string& name, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(), [&](const char* x) { return name.starts_with(x); });
}

bool is_peer(const std::string& name) {
  return begins(name, {"cblas_", "openblas_", "dnnl_", "dnnl::", "goto_"}) ||
         is_one_of(name, {"sgemm_", "dgemm_", "sgemv_", "dgemv_", "saxpy_", "daxpy_"});
}

/// Returns whether a header of a contract, or one that kernels share, declares a function of that name. The unit for tiles has its
/// header in the harness, which says what it allows.
bool is_declared_for_kernels(const std::string& function) {
  namespace fs = std::filesystem;
  const std::string call = " " + function + "(";
  if (read_text(tree_file("harness/core/tile_unit.h")).find(call) != std::string::npos) return true;
  for (const char* folder : {"reference", "kernels/common"}) {
    const fs::path root = source_root() / folder;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(root, error))
      if (entry.path().extension() == ".h" && read_text(entry.path()).find(call) != std::string::npos)
        return true;
  }
  return false;
}

/// What a kernel computes depends on its inputs: one that reads a clock, or counts what it was given of it, works otherwise
/// while it is timed.
bool is_clock(const std::string& symbol) {
  return is_one_of(
      symbol, {"clock_gettime", "clock_getres", "gettimeofday", "time", "times", "timespec_get", "getrusage",
               "ftime", "omp_get_wtime", "timer_create", "timer_settime", "setitimer", "alarm",
               "_ZNSt6chrono3_V212steady_clock3nowEv", "_ZNSt6chrono3_V212system_clock3nowEv"});
}

/// Returns whether it is a function of klab that kernels may not call: the registry, where all rungs are, the references, and
/// what checks and times. Kernels register themselves, run on the host executor, and call what contracts declare.
bool is_klab(const std::string& name) {
  if (!name.starts_with("klab::") || name.starts_with("klab::register_variant(")) return false;
  if (name.starts_with("klab::simt::"))
    return begins(name, {"klab::simt::host_bind", "klab::simt::load_", "klab::simt::Session"});
  // Functions that return a std::string have a tag behind their names: "why_no_tiles[abi:cxx11]()".
  const std::string function = name.substr(6, name.find_first_of("([") - 6);
  return function.find(':') != std::string::npos || !is_declared_for_kernels(function);
}

}  // namespace

namespace {

/// Returns the names in an object's dynamic symbol table, of those that it defines or of those that it only uses.
std::vector<std::string> symbols_of(const std::filesystem::path& object, bool defined) {
  std::ifstream in(object, std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::vector<std::string> names;
  try {
    const auto header = read<Elf64_Ehdr>(file, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
      throw std::runtime_error("no 64-bit ELF object");
    const auto section = [&](uint64_t i) {
      return read<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
    };
    for (uint64_t s = 0; s < header.e_shnum; ++s) {
      const auto symbols = section(s);
      if (symbols.sh_type != SHT_DYNSYM) continue;
      const auto strings = section(symbols.sh_link);
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = read<Elf64_Sym>(file, symbols.sh_offset + at);
        const bool has_place = symbol.st_shndx != SHN_UNDEF;
        if (has_place != defined || symbol.st_name == 0 || symbol.st_name >= strings.sh_size) continue;
        const char* name = part(file, strings.sh_offset + symbol.st_name, 1);
        names.emplace_back(name, strnlen(name, size_t(strings.sh_size - symbol.st_name)));
      }
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(object.string() + ": " + error.what());
  }
  return names;
}

}  // namespace

std::vector<std::string> imports_of(const std::filesystem::path& object) { return symbols_of(object, false); }

std::vector<std::string> definitions_of(const std::filesystem::path& object) {
  return symbols_of(object, true);
}

std::optional<std::string> own_clock(const std::vector<std::string>& definitions) {
  for (const std::string& symbol : definitions)
    if (is_clock(symbol)) return plain_name(symbol);
  return std::nullopt;
}

std::optional<ForbiddenCall> forbidden_call(const std::vector<std::string>& imports, bool untrusted) {
  for (const std::string& symbol : imports) {
    const std::string name = plain_name(symbol);
    if (is_peer(name)) return ForbiddenCall{name, "calls a vendor library that it is compared with"};
    if (is_klab(name)) return ForbiddenCall{name, "reaches into klab, where other variants are"};
    if (is_one_of(symbol, {"dlopen", "dlsym", "dlvsym", "dlmopen"}))
      return ForbiddenCall{name, "loads other code"};
    if (is_clock(symbol)) return ForbiddenCall{name, "reads a clock, which has no part in what it computes"};
    if (!untrusted) continue;
    if (is_one_of(symbol,
                  {"fork",    "vfork",   "clone",   "execl", "execv",  "execve",      "execvp",
                   "execlp",  "execvpe", "system",  "popen", "kill",   "posix_spawn", "ptrace",
                   "syscall", "socket",  "connect", "prctl", "setsid", "setpgid",     "posix_spawnp"}))
      return ForbiddenCall{name, "starts or reaches other processes"};
    if (is_one_of(symbol,
                  {"open",     "open64",           "openat",  "openat64", "fopen",    "fopen64",
                   "creat",    "unlink",           "rename",  "opendir",  "readlink", "dl_iterate_phdr",
                   "mprotect", "process_vm_readv", "fdopen",  "dup2",     "write",    "pwrite",
                   "pwrite64", "writev",           "dprintf", "vdprintf", "sendfile", "process_vm_writev"}) ||
        name.find("basic_filebuf") != std::string::npos || name.find("std::filesystem") != std::string::npos)
      return ForbiddenCall{name, "reaches files or memory that are not a kernel's"};
  }
  return std::nullopt;
}

}  // namespace klab
