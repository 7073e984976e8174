#include "harness/cli/check_apart.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/check/failure_json.h"
#include "harness/core/source.h"
#include "harness/step/process.h"

namespace klab {
namespace {

std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return all + "'";
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("its process was ended by {}", strsignal(WTERMSIG(status)));
  // A shell in between tells a signal by its number above 128.
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code > 128) return fmt::format("its process was ended by {}", strsignal(code - 128));
  return fmt::format("its process ended with exit code {}", code);
}

/// What the crash guard wrote of it: "klab: SIGSEGV while checking <variant> at m=17 n=33, random inputs".
std::string at_its_end(const std::string& variant, const std::string& said) {
  std::istringstream in(said);
  const std::string before = " while checking " + variant;
  std::string found;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("klab: ")) continue;
    if (const size_t at = line.find(before); at != std::string::npos) found = line.substr(at + before.size());
  }
  return found.starts_with(" at ") ? found.substr(4) : found.starts_with(" ") ? found.substr(1) : found;
}

}  // namespace

CheckResult read_check(const std::string& variant, const std::string& printed, int status,
                       const std::string& said) {
  CheckResult r{.variant = variant};
  const auto fail = [&](const std::string& note) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const bool crashed = WIFSIGNALED(status) || code > 128;
    r.failures.push_back({.fault = crashed ? Fault::crashed : Fault::threw,
                          .inputs = at_its_end(variant, said),
                          .note = note});
    return r;
  };
  const auto all = nlohmann::json::parse(printed, nullptr, false);
  if (all.is_discarded() || !all.contains("variants")) return fail(how_it_ended(status));
  for (const auto& j : all["variants"]) {
    if (j.value("variant", "") != variant) continue;
    r.cases = j.value("cases", 0);
    r.skipped_cases = j.value("skipped_cases", 0);
    r.worst = j["worst"].is_number() ? j["worst"].get<double>() : 0;
    r.note = j.value("note", "");
    r.skipped = j.value("skipped", "");
    r.seconds = all.value("seconds", 0.0);
    for (const auto& f : j["failures"]) r.failures.push_back(failure_from(f));
    return r;
  }
  return fail("its process said nothing of it; " + how_it_ended(status));
}

OpCheck check_apart(std::span<const Variant* const> variants, const CheckOptions& options) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw std::runtime_error("cannot find this program to run it again: " + error.message());
  std::string rest = fmt::format(" --json --seed {}", options.seed);
  if (options.quick) rest += " --quick";
  if (!options.backend.empty()) rest += " --backend " + quoted(options.backend);
  for (size_t d = 0; d < options.shape.size(); ++d)
    rest += fmt::format("{}{}", d == 0 ? " --shape=" : ",", options.shape[d]);
  OpCheck results;
  const ScratchFolder folder;
  const std::filesystem::path errors = folder.path() / "errors";
  for (const Variant* v : variants) {
    const std::string command =
        quoted(self.string()) + " check " + quoted(v->id) + rest + " 2>" + quoted(errors.string());
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr)
      throw std::runtime_error("cannot start a process: " + std::string(std::strerror(errno)));
    std::string text;
    std::array<char, 4096> part{};
    for (size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) text.append(part.data(), n);
    const int status = pclose(pipe);
    const std::string said = read_text(errors);
    fmt::print(stderr, "{}", said);
    results.variants.push_back(read_check(v->id, text, status, said));
  }
  return results;
}

}  // namespace klab
