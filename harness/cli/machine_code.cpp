#include "harness/cli/machine_code.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "harness/core/source.h"
#include "harness/simt/gpus.h"
#include "harness/step/process.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

constexpr double kCompileSeconds = 300;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool runs(const fs::path& p) {
  std::error_code error;
  return fs::is_regular_file(p, error) && access(p.c_str(), X_OK) == 0;
}

std::string on_path(const std::string& program) {
  std::istringstream in(environment("PATH"));
  for (std::string folder; std::getline(in, folder, ':');)
    if (runs(fs::path(folder) / program)) return fs::path(folder) / program;
  return "";
}

std::string first_of(const std::vector<std::string>& candidates) {
  for (const std::string& c : candidates)
    if (!c.empty() && runs(c)) return c;
  return "";
}

std::string architecture() {
  const int capability = simt::named_gpu().compute_capability;
  return fmt::format("sm_{}{}", capability, capability == 90 || capability >= 100 ? "a" : "");
}

std::string first_complaint(const std::string& words) {
  std::istringstream in(words);
  std::string first;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    if (line.find("error") != std::string::npos || line.find("fatal") != std::string::npos) return line;
    if (first.empty()) first = line;
  }
  return first.empty() ? "it said nothing" : first;
}

/// Returns nvcc's options without those that select a GPU architecture.
std::vector<std::string> without_architecture(const std::vector<std::string>& options) {
  std::vector<std::string> kept;
  for (size_t k = 0; k < options.size(); ++k) {
    const std::string& o = options[k];
    if (o == "-arch" || o == "-gencode" || o == "-code" || o == "--gpu-architecture" ||
        o == "--generate-code") {
      ++k;
      continue;
    }
    if (o.starts_with("-arch=") || o.starts_with("-gencode=") || o.starts_with("-code=") ||
        o.starts_with("--gpu-architecture=") || o.starts_with("--generate-code=") || o.starts_with("-l") ||
        o.starts_with("-L"))
      continue;
    kept.push_back(o);
  }
  return kept;
}

}  // namespace

std::vector<LocalMemory> local_memory_of(const simt::CompiledCode& code,
                                         const std::vector<simt::LaunchRecord>& launches) {
  std::vector<LocalMemory> list;
  for (const simt::LaunchRecord& l : launches) {
    const simt::CompiledKernel* k = code.find(l.kernel);
    if (k == nullptr || k->local_loads + k->local_stores == 0) continue;
    if (std::ranges::find(list, l.kernel, &LocalMemory::kernel) == list.end())
      list.push_back({l.kernel, k->local_loads, k->local_stores});
  }
  return list;
}

std::vector<UnitInstruction> unit_instructions_of(const simt::CompiledCode& code,
                                                  const std::vector<simt::LaunchRecord>& launches) {
  std::vector<UnitInstruction> list;
  for (const simt::LaunchRecord& l : launches) {
    const simt::CompiledKernel* k = code.find(l.kernel);
    if (k == nullptr || std::ranges::find(list, l.kernel, &UnitInstruction::kernel) != list.end()) continue;
    for (const simt::CompiledUnit& u : k->units) list.push_back({l.kernel, u});
  }
  return list;
}

std::vector<std::string> nvcc_options(const fs::path& root) {
  return {"-std=c++20", "-O3", "--expt-relaxed-constexpr", "-I" + root.string()};
}

MachineCode machine_code_of(const std::vector<std::string>& files, const std::vector<std::string>& options) {
  MachineCode made;
  const std::string asked = environment("KLAB_NVCC");
  if (asked == "none") {
    made.why = "KLAB_NVCC says none";
    return made;
  }
  const std::string nvcc =
      first_of({asked, environment("CUDACXX"), on_path("nvcc"), "/usr/local/cuda/bin/nvcc"});
  if (nvcc.empty()) {
    made.why = "no nvcc here (CUDA 12.4 or newer; $KLAB_NVCC names it)";
    return made;
  }
  const std::string nvdisasm = first_of({environment("KLAB_NVDISASM"), on_path("nvdisasm"),
                                         (fs::path(nvcc).parent_path() / "nvdisasm").string()});
  if (nvdisasm.empty()) {
    made.why = nvcc + " is here, nvdisasm is not (package cuda-nvdisasm; $KLAB_NVDISASM names it)";
    return made;
  }
  const ScratchFolder folder;
  int number = 0;
  for (const std::string& file : files) {
    const std::string stem = (folder.path() / std::to_string(number++)).string();
    std::vector<std::string> command = {nvcc, "-cubin", "-lineinfo",    "-w", "-arch=" + architecture(),
                                        file, "-o",     stem + ".cubin"};
    for (const std::string& o : without_architecture(options)) command.push_back(o);
    const Ended compiled = run_process(command, {.seconds = kCompileSeconds});
    if (!compiled.good()) {
      made.why = "nvcc cannot compile it for " + architecture() + ": " + first_complaint(compiled.words);
      return made;
    }
    const Ended printed =
        run_process({"/bin/sh", "-c", R"(exec "$0" --print-line-info-inline -c "$1" > "$2")", nvdisasm,
                     stem + ".cubin", stem + ".sass"},
                    {.seconds = kCompileSeconds});
    if (!printed.good()) {
      made.why = "nvdisasm cannot read what nvcc made (is it older?): " + first_complaint(printed.words);
      return made;
    }
    made.text += read_text(stem + ".sass");
  }
  try {
    made.code = simt::read_disassembly(made.text, files.empty() ? "" : files[0]);
  } catch (const std::runtime_error& e) {
    made.why = e.what();
    return made;
  }
  made.code.made_by = "nvcc for " + architecture();
  return made;
}

}  // namespace klab
