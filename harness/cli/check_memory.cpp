#include "harness/cli/check_memory.h"

#include <fmt/core.h>
#include <link.h>
#include <omp.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "harness/cli/tools.h"
#include "harness/core/source.h"
#include "harness/records/digest.h"
#include "harness/step/process.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

// Rooms that decide what a check does, with all that they call.
constexpr const char* kRoomsOfTheCheck[] = {"/klab_core.dir/", "/klab_simt.dir/", "/klab_gpu.dir/",
                                            "/klab_check.dir/"};

std::string stamp_of(const fs::path& file) {
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  if (error) return file.string();
  const auto time = fs::last_write_time(file, error).time_since_epoch().count();
  return fmt::format("{} {} {}", file.string(), bytes, time);
}

/// Libraries of the system that this process has loaded, by size and time: the C library, OpenMP, the peers.
std::string loaded_libraries(const fs::path& without) {
  struct Visit {
    std::string without, text;
  } visit{without.string(), ""};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& v = *static_cast<Visit*>(data);
        const std::string name = info->dlpi_name;
        if (!name.empty() && name.front() == '/' && !name.starts_with(v.without))
          v.text += stamp_of(name) + "\n";
        return 0;
      },
      &visit);
  return visit.text;
}

fs::file_time_type time_of(const fs::path& file) {
  std::error_code error;
  const auto time = fs::last_write_time(file, error);
  return error ? fs::file_time_type::min() : time;
}

/// The program and the modules of CUDA variants that it loads.
struct ProgramFiles {
  fs::path program = own_program();
  fs::path plain = program.parent_path() / "libklab_cuda_host.so";
  fs::path traced = program.parent_path() / "libklab_cuda_host_traced.so";

  fs::file_time_type linked(const std::string& object) const {
    if (!object.ends_with(".cu.o")) return time_of(program);
    return time_of(object.find("_cuda_traced_") != std::string::npos ? traced : plain);
  }
};

/// What the paths of the objects contain that a check of these variants runs.
std::vector<std::string> objects_of(const Selected& s) {
  std::vector<std::string> parts(std::begin(kRoomsOfTheCheck), std::end(kRoomsOfTheCheck));
  parts.push_back("/labs/" + s.lab->id + "/lab.cpp.o");
  for (const Variant* v : s.variants) parts.push_back("/" + source_path(*v) + ".o");
  for (const std::string& op : {s.op->op.name, s.op->op.forward}) {
    if (op.empty()) continue;
    parts.push_back("_reference_" + op + ".dir/");
    for (const Variant* v : variants_of(op)) parts.push_back("/" + source_path(*v) + ".o");
  }
  return parts;
}

bool any_failure(const OpCheck& results) {
  if (results.reference && !results.reference->failures.empty()) return true;
  return std::ranges::any_of(results.variants, [](const CheckResult& r) { return !r.failures.empty(); });
}

}  // namespace

CodeDigest code_of_this_program() {
  const ProgramFiles files;
  const fs::path build = build_folder_of(files.program);
  const std::string libraries = loaded_libraries(build.empty() ? files.program.parent_path() : build);
  if (build.empty()) {
    std::string text = libraries;
    for (const fs::path& file : {files.program, files.plain, files.traced})
      if (std::error_code error; fs::exists(file, error)) text += sha256(read_text(file)) + "\n";
    return [digest = sha256(text)](const Selected&) { return digest; };
  }
  const auto objects = std::make_shared<LinkedObjects>(build);
  return [=](const Selected& s) {
    const std::string code =
        objects->digest(objects_of(s), [&](const std::string& object) { return files.linked(object); });
    return code.empty() ? code : sha256(code + libraries);
  };
}

CheckMemory::CheckMemory(fs::path file, CodeDigest code, const CheckOptions& options, bool again)
    : passed_(std::move(file)), code_(std::move(code)), options_(options), again_(again) {}

std::string CheckMemory::key_of(const Selected& s) {
  const std::string code = code_(s);
  if (code.empty()) return "";
  std::string text =
      fmt::format("{} {}\nseed {} quick {} triples {} shapes {} backend {}\nthreads {} machine {}\n",
                  s.lab->id, s.op->op.name, options_.seed, options_.quick, options_.triples,
                  options_.most_shapes, options_.backend, omp_get_max_threads(), fingerprint(this_machine()));
  for (const int64_t d : options_.shape) text += fmt::format("shape {}\n", d);
  for (const Variant* v : s.variants) text += v->id + "\n";
  return sha256(text + code);
}

bool CheckMemory::passed_before(const Selected& s) {
  const std::string key = keys_[s.op->op.name + s.variants.front()->id] = key_of(s);
  if (again_ || key.empty()) return false;
  const auto before = passed_.find(key);
  if (before) variants_ += before->ok;
  return before.has_value();
}

void CheckMemory::keep(const Selected& s, const OpCheck& results) {
  const std::string key = keys_[s.op->op.name + s.variants.front()->id];
  if (key.empty()) return;
  PassedCheck passed;
  for (const CheckResult& r : results.variants) ++(r.passed() ? passed.ok : passed.skipped);
  if (results.reference) ++(results.reference->passed() ? passed.ok : passed.skipped);
  if (any_failure(results))
    passed_.forget(key);
  else if (passed.ok > 0 &&
           key == key_of(s))  // a program that was linked meanwhile may have been checked in part
    passed_.add(key, passed);
}

void forget_failed(const Selected& selected, const OpCheck& results, const CheckOptions& options) {
  const fs::path file = passed_checks_file();
  std::error_code error;
  if (!any_failure(results) || !fs::exists(file, error)) return;
  CheckMemory memory(file, code_of_this_program(), options, true);
  memory.passed_before(selected);
  memory.keep(selected, results);
}

}  // namespace klab
