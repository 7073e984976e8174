#include "harness/step/compile.h"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "harness/check/thread_races.h"
#include "harness/core/build_info.h"
#include "harness/core/instruction_sets.h"
#include "harness/core/source.h"
#include "harness/records/digest.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

enum class Built { cpu, cpu_watched, host, host_traced };

bool for_cpu(Built form) { return form == Built::cpu || form == Built::cpu_watched; }

/// Returns the command that compiled that form of a variant's file, as CMake recorded it next to this program
/// (for tests: above it).
std::vector<std::string> recorded_command(const Variant& v, Built form) {
  fs::path folder = own_program().parent_path();
  while (!fs::exists(folder / "compile_commands.json") && folder.has_relative_path())
    folder = folder.parent_path();
  std::ifstream in(folder / "compile_commands.json");
  if (!in)
    throw std::runtime_error(
        "compile_commands.json, which says how klab was compiled, is not other this program: run klab from "
        "the folder it was built in (./klab does)");
  static const auto all = nlohmann::json::parse(in);
  const std::string end = source_path(v);
  for (const auto& entry : all) {
    if (!entry.at("file").get<std::string>().ends_with(end)) continue;
    const std::string command = entry.at("command");
    const bool traced = command.find("-DKLAB_SIMT_TRACED=1") != std::string::npos;
    const bool simt = command.find("-DKLAB_SIMT=1") != std::string::npos;
    if (simt != !for_cpu(form) || traced != (form == Built::host_traced)) continue;
    return split_command(command);
  }
  throw std::runtime_error("compile_commands.json has no command for " + end + ": configure klab again");
}

/// Returns true if klab is built for a single instruction set. Recorded commands then compile for that set.
bool built_for_one() { return std::has_single_bit(uint64_t(built_targets())); }

/// Returns the compiler and the flags that affect the code, without input, output and warnings as errors.
std::vector<std::string> flags_of(const std::vector<std::string>& command) {
  const bool targets = built_for_one();
  std::vector<std::string> flags;
  for (size_t i = 0; i < command.size(); ++i) {
    const std::string& a = command[i];
    // A learner's file includes what it needs itself.
    const bool precompiled = a == "-include" && i + 1 < command.size() &&
                             command[i + 1].find("klab_headers_scalar.dir") != std::string::npos;
    if (a == "-o" || a == "-c" || precompiled) {
      ++i;
      continue;
    }
    if (a.starts_with("-Werror") || a == "-pedantic-errors" || a == "-Winvalid-pch" ||
        (!targets && (a.starts_with("-DHWY_DISABLED_TARGETS") || a.starts_with("-DHWY_BASELINE_TARGETS"))) ||
        fs::path(a).filename() == "ccache")
      continue;
    flags.push_back(a);
  }
  return flags;
}

/// Returns the flags that compile vectors for the instruction set that rungs run on here, and for no other.
std::vector<std::string> one_target() {
  if (built_for_one()) return {};
  const int64_t built = built_targets();
  const int64_t able = hwy::SupportedTargets() & (built != 0 ? built : HWY_TARGETS);
  const std::string best = std::to_string(able & -able) + "LL";
  return {"-DHWY_BASELINE_TARGETS=" + best, "-DHWY_DISABLED_TARGETS=(~" + best + ")"};
}

/// Replaces the rungs' precompiled headers by those that the build makes for learners' files. GCC ignores a
/// precompiled header made with other flags for position-independent code or debug information, and reading
/// Highway's headers again takes six times as long as compiling a short rung.
void take_headers_of_steps(std::vector<std::string>& command) {
  const std::string theirs = "klab_headers_simd.dir", ours = "klab_headers_step.dir";
  for (std::string& flag : command) {
    const size_t at = flag.find(theirs);
    if (at == std::string::npos) continue;
    std::string header = flag;
    header.replace(at, theirs.size(), ours);
    if (fs::exists(header + ".gch")) flag = header;
  }
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

/// Returns the files that a rule of make, as compilers write it, depends on.
std::vector<std::string> files_in_rule(const std::string& rule) {
  std::vector<std::string> files;
  std::istringstream in(rule.substr(std::min(rule.size(), rule.find(": ") + 1)));
  for (std::string word; in >> word;)
    if (word != "\\") files.push_back(word);
  return files;
}

bool is_gnu() { return build_info().compiler.rfind("GNU", 0) == 0; }

/// Returns whether a source may start threads.
bool starts_threads(const std::string& source) {
  static const std::regex words(R"(\b(omp|pthread\w*)\b|<(thread|future|execution)>|/threads\.h")");
  return std::regex_search(source, words);
}

class Compilation {
 public:
  Compilation(const Step& step, fs::path source, fs::path folder, const CompileOptions& options)
      : step_(step), source_(std::move(source)), folder_(std::move(folder)), options_(options) {}

  /// Compiles and links one form.
  Compiled make(Built form) {
    const std::string stem = form == Built::cpu           ? "work"
                             : form == Built::cpu_watched ? "work_watched"
                             : form == Built::host        ? "work_host"
                                                          : "work_traced";
    const fs::path object = folder_ / (stem + ".o"), module = folder_ / (stem + ".so");
    const fs::path info = folder_ / (stem + ".loops");
    auto command = flags_of(recorded_command(*step_.own, form));
    const std::string compiler = command.front();
    const std::string mine =
        step_.op->op.name + "/" + step_.own->backend + "/" + step_.own->rung.substr(0, 2);
    command.insert(command.end(),
                   {"-fPIC", "-fvisibility=hidden", "-fdiagnostics-color=never", "-include",
                    (klab_home() / "harness/step/work.h").string(),
                    "-DKLAB_STEP_PATH=" + quoted("work/" + mine + "_yours" + source_.extension().string())});
    for (std::string& flag : one_target()) command.push_back(std::move(flag));
    if (options_.lines && form == Built::cpu) {
      command.push_back("-g1");
      take_headers_of_steps(command);
    }
    // One access of the source is one of the object, as nearly as GCC does it, and each calls harness/simt/hooks.cpp.
    if (form == Built::cpu_watched)
      command.insert(command.end(), {"-O1", "-g1", "-fsanitize=thread", "-Wno-tsan", "-fno-tree-vectorize",
                                     "-DKLAB_CPU_WATCHED=1"});
    if (!options_.automatic.empty()) command.push_back("-ftrivial-auto-var-init=" + options_.automatic);
    const bool loops = form == Built::cpu && is_gnu() && options_.automatic.empty();
    if (loops) command.push_back("-fopt-info-vec-optimized-missed=" + info.string());
    const fs::path includes = folder_ / (stem + ".d");
    command.insert(command.end(),
                   {"-MMD", "-MF", includes.string(), "-o", object.string(), "-c", source_.string()});
    Compiled result = run(command);
    if (fs::exists(includes)) result.includes = files_in_rule(read_text(includes));
    if (!result.good) return result;
    result.object = sha256(read_text(object));
    if (loops) {
      std::ifstream in(info);
      std::ostringstream text;
      text << in.rdbuf();
      result.loops = loops_in(text.str(), source_.string(), read_text(source_));
    } else if (for_cpu(form)) {
      result.loops_unknown = "what a compiler makes of loops is shown with GCC";
    }
    std::vector<std::string> link = {compiler, "-shared", "-o", module.string(), object.string()};
    if (for_cpu(form)) link.emplace_back("-fopenmp");
    if (form != Built::cpu)
      link.insert(link.end(),
                  {"-fPIC", "-fvisibility=hidden", (klab_home() / "harness/simt/anchor.cpp").string()});
    Compiled linked = run(link);
    result.seconds += linked.seconds;
    result.good = linked.good;
    result.how = linked.how;
    if (!linked.good) result.message += linked.message;
    result.modules = {module};
    return result;
  }

 private:
  Compiled run(std::vector<std::string> command) const {
    if (options_.wrap) command = options_.wrap(command);
    const Ended ended = run_process(command, options_.limits, {}, folder_,
                                    {"TMPDIR=" + folder_.string(), "LC_ALL=C.UTF-8", "CCACHE_DISABLE=1"});
    Compiled result{.good = ended.good(), .message = named(ended.words), .seconds = ended.seconds};
    result.how = ended.how;
    if (ended.how == Ended::How::too_long)
      result.message +=
          "the compiler was stopped after " + std::to_string(int(options_.limits.seconds)) + " s\n";
    if (ended.how == Ended::How::too_much_memory)
      result.message += "the compiler was stopped: it took more than " +
                        std::to_string(options_.limits.bytes / 1000000) + " MB of memory\n";
    return result;
  }

  /// Shortens paths: the learner's file becomes "05_matmul/02.cpp", and klab's begin at its folder.
  std::string named(std::string text) const {
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
    };
    replace(source_.string(), source_.filename().string());
    replace(source_root().string() + "/", "");
    return text;
  }

  const Step& step_;
  fs::path source_, folder_;
  const CompileOptions& options_;
};

}  // namespace

Compiled compile_work(const Step& step, const fs::path& source, const fs::path& folder,
                      const CompileOptions& options) {
  Compilation compilation(step, fs::absolute(source), folder, options);
  Compiled plain;
  if (!step.cuda()) {
    const bool asked = options.watched && starts_threads(read_text(source));
    if (!asked || !races_are_watched()) {
      plain = compilation.make(Built::cpu);
      if (asked) plain.unwatched = why_races_are_not_watched();
      return plain;
    }
    recorded_command(*step.own, Built::cpu);  // throws here rather than in the thread
    std::thread other([&] { plain = compilation.make(Built::cpu); });
    const Compiled watched = compilation.make(Built::cpu_watched);
    other.join();
    plain.seconds = std::max(plain.seconds, watched.seconds);
    if (plain.good && watched.good) plain.modules.push_back(watched.modules.front());
    if (!watched.good) plain.unwatched = "its watched form did not compile";
    return plain;
  }
  recorded_command(*step.own, Built::host);  // throws here rather than in the thread
  std::thread other([&] { plain = compilation.make(Built::host); });
  Compiled traced = compilation.make(Built::host_traced);
  other.join();
  const double seconds = std::max(plain.seconds, traced.seconds);
  // If it does not compile, both have the same message.
  Compiled& result = plain.good ? traced : plain;
  if (plain.good && traced.good) {
    traced.modules.insert(traced.modules.begin(), plain.modules.front());
    traced.object = plain.object;  // the traced form contains line numbers
  }
  result.seconds = seconds;
  return std::move(result);
}

std::vector<std::string> split_command(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool any = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      any = true;
    } else if (c == '\\' && quote != '\'' && i + 1 < command.size() &&
               (quote == 0 || command[i + 1] == '"' || command[i + 1] == '\\')) {
      word += command[++i];
      any = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (any) words.push_back(word);
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) words.push_back(word);
  return words;
}

std::vector<LoopNote> loops_in(const std::string& opt_info, const std::string& file,
                               const std::string& source) {
  static const std::regex form(R"(^(.*):(\d+):\d+: (optimized|missed):\s*(.*)$)");
  static const std::regex width(R"(loop vectorized using (variable length|(\d+) byte) vectors)");
  std::map<int, LoopNote> loops;
  std::map<int, std::string> reasons;
  std::istringstream in(opt_info);
  for (std::string line; std::getline(in, line);) {
    std::smatch m;
    if (!std::regex_match(line, m, form) || m[1] != file) continue;
    const int number = std::stoi(m[2]);
    const std::string text = m[4];
    LoopNote& note = loops[number];
    note.line = number;
    if (std::smatch w; std::regex_search(text, w, width)) {
      note.vectorized = true;
      note.bytes = std::max(note.bytes, w[2].matched ? std::stoi(w[2]) : 0);
    } else if (text.find("loop versioned for vectorization because of possible aliasing") !=
               std::string::npos) {
      note.checked = true;
    } else if (text.starts_with("not vectorized: ") && note.why.empty()) {
      note.why = text.substr(16);
    }
  }
  std::vector<std::string> lines;
  std::istringstream text(source);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::vector<LoopNote> list;
  for (auto& [number, note] : loops) {
    const std::string at = number >= 1 && size_t(number) <= lines.size() ? lines[size_t(number) - 1] : "";
    const bool loop = std::regex_search(at, std::regex(R"(\b(for|while|do)\b)"));
    if (!note.vectorized && (note.why.empty() || !loop)) continue;
    const size_t begin = at.find_first_not_of(' ');
    note.source = begin == std::string::npos ? "" : at.substr(begin);
    list.push_back(std::move(note));
  }
  return list;
}

}  // namespace klab
