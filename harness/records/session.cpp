#include "harness/records/session.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "harness/core/registry.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

/// A temporary folder for a process's plan, rows and output.
class Folder {
 public:
  Folder() {
    std::string form = (fs::temp_directory_path() / "klab_session_XXXXXX").string();
    if (mkdtemp(form.data()) == nullptr)
      throw std::runtime_error(fmt::format("{}: cannot make a folder: {}", form, std::strerror(errno)));
    path_ = form;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Runs this program with these arguments, with its output in a file. Returns its exit code, or 128 + signal.
int run_apart(const std::string& program, std::vector<std::string> arguments, const std::string& words) {
  arguments.insert(arguments.begin(), "klab");
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, words.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0)
    throw std::runtime_error(fmt::format("{} cannot be started: {}", program, std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<int64_t> shape_from_text(const std::string& text) {
  std::vector<int64_t> shape;
  std::istringstream in(text);
  for (std::string part; in >> part;)
    shape.push_back(number_from<int64_t>(part.substr(part.find('=') + 1), range::extent));
  return shape;
}

}  // namespace

Baseline baseline_at(const std::string& root, const std::string& machine, const std::string& name) {
  const bool plain = !name.empty() && name.front() != '.' && name.front() != '-' && name.size() <= 100 &&
                     std::all_of(name.begin(), name.end(), [](unsigned char c) {
                       return std::isalnum(c) || c == '.' || c == '_' || c == '-';
                     });
  if (!plain)
    throw std::invalid_argument(
        fmt::format("a baseline cannot be called '{}': take letters, digits, '.', '_' and '-', beginning "
                    "with none of the last "
                    "three",
                    name));
  const fs::path folder = fs::path(root) / "reports" / "recorded" / machine;
  return {(folder / (name + ".csv")).string(), (folder / (name + ".json")).string()};
}

Recording run_session(const SessionPlan& plan, int session, const std::function<bool()>& stop) {
  Recording run;
  const Machine& machine = this_machine();
  for (const SessionTask& task : plan.tasks) {
    const LabOp* op = find_op(task.op);
    const Lab* lab = lab_of(task.op);
    if (op == nullptr || lab == nullptr) continue;  // from another version of klab; it is reported as missing
    std::vector<const Variant*> list;
    for (const std::string& id : task.variants)  // two ids of an older version may now be one variant
      if (const Variant* v = find_variant(id); v != nullptr && std::ranges::find(list, v) == list.end())
        list.push_back(v);
    if (list.empty()) continue;
    const Ladder ladder = bench(*op, task.shape, list,
                                {.rounds = plan.rounds,
                                 .sample_seconds = plan.sample_seconds,
                                 .call_cap_seconds = plan.call_cap_seconds,
                                 .ladder_seconds = 20,
                                 .threads = task.threads,
                                 .seed = plan.seed + uint64_t(session) - 1,
                                 .check = plan.check,
                                 .full_check = plan.check,
                                 .progress = {},
                                 .stop = stop});
    if (!ladder.complete) {
      run.complete = false;
      break;
    }
    for (Row& row : rows_of(*lab, ladder, machine)) {
      row.session = session;
      run.rows.push_back(std::move(row));
    }
  }
  return run;
}

Recording run_session_apart(const SessionPlan& plan, int session, const std::string& program) {
  const Folder folder;
  std::ofstream(folder.file("plan")) << to_text(plan);
  const int code = run_apart(program.empty() ? fs::read_symlink("/proc/self/exe").string() : program,
                             {"bench", "--session", std::to_string(session), "--plan", folder.file("plan"),
                              "--out", folder.file("rows.csv")},
                             folder.file("words"));
  if (code == 130) return {{}, false};
  if (code != 0 && code != 1) {
    std::string words = text_of(folder.file("words"));
    while (!words.empty() && words.back() == '\n') words.pop_back();
    throw std::runtime_error(fmt::format("session {}{} failed with exit code {}: {}", session,
                                         program.empty() ? "" : " of " + program, code, words));
  }
  return read_csv(folder.file("rows.csv"));
}

void append(Recording& run, Recording more) {
  run.complete = run.complete && more.complete;
  for (Row& row : more.rows) run.rows.push_back(std::move(row));
}

SessionPlan plan_of(const Recording& recorded) {
  SessionPlan plan;
  std::map<std::string, size_t> places;
  for (const Row& row : recorded.rows) {
    if (row.seconds.empty()) continue;
    const Cache cache = row.cache.starts_with("cold") ? Cache::cold : Cache::hot;
    const std::string key = fmt::format("{}|{}|{}|{}", row.op, row.shape, row.threads, int(cache));
    const auto [at, fresh] = places.emplace(key, plan.tasks.size());
    if (fresh)
      plan.tasks.push_back({.op = row.op,
                            .shape = {.name = row.size, .shape = shape_from_text(row.shape), .cache = cache},
                            .threads = row.threads,
                            .variants = {}});
    auto& list = plan.tasks[at->second].variants;
    if (std::find(list.begin(), list.end(), row.variant) == list.end()) list.push_back(row.variant);
  }
  return plan;
}

std::string to_text(const SessionPlan& plan) {
  nlohmann::json tasks = nlohmann::json::array();
  for (const SessionTask& t : plan.tasks)
    tasks.push_back({{"op", t.op},
                     {"size", t.shape.name},
                     {"shape", t.shape.shape},
                     {"cold", t.shape.cache == Cache::cold},
                     {"threads", t.threads},
                     {"variants", t.variants}});
  return nlohmann::json{{"tasks", tasks},
                        {"rounds", plan.rounds},
                        {"sample_seconds", plan.sample_seconds},
                        {"call_cap_seconds", plan.call_cap_seconds},
                        {"seed", plan.seed},
                        {"check", plan.check},
                        {"count", plan.count}}
      .dump();
}

SessionPlan plan_from_text(const std::string& text) {
  const std::string where = "plan of a session";
  const auto j = parse_json(text, where);
  SessionPlan plan{.tasks = {},
                   .rounds = number_in<int>(j, "rounds", range::rounds, where),
                   .sample_seconds = number_in<double>(j, "sample_seconds", {1e-9, 1e4}, where),
                   .call_cap_seconds = number_in<double>(j, "call_cap_seconds", {1e-9, 1e6}, where),
                   .seed = number_in<uint64_t>(j, "seed", range::seed, where)};
  try {
    plan.check = j.at("check");
    plan.count = j.at("count");
    for (const auto& t : j.at("tasks")) {
      // Assign member by member: if one initializer throws halfway, GCC 12 destroys the earlier members
      // twice.
      SessionTask task;
      task.op = t.at("op").get<std::string>();
      task.shape.name = t.at("size").get<std::string>();
      task.shape.cache = t.at("cold").get<bool>() ? Cache::cold : Cache::hot;
      for (const auto& extent : t.at("shape"))
        task.shape.shape.push_back(number_of<int64_t>(extent, "shape", range::extent, where));
      task.threads =
          number_in<int>(t, "threads", {0, range::threads.high}, where);  // 0: all hardware threads
      task.variants = t.at("variants").get<std::vector<std::string>>();
      plan.tasks.push_back(std::move(task));
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(fmt::format("{}: is damaged: {}", where, error.what()));
  }
  return plan;
}

}  // namespace klab
