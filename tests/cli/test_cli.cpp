// The program as people and other programs call it: output, errors, exit codes, pipes and terminals.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/core/source.h"
#include "harness/records/numbers.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

struct Spoken {
  int code = -1;
  std::string out;
  std::string err;
};

/// Starts the program with standard output and error in pipes. `environment` is "A=b" or empty.
Spoken klab_says(std::vector<std::string> arguments, const std::string& environment = "") {
  std::array<int, 2> out{}, err{};
  EXPECT_EQ(pipe(out.data()), 0);
  EXPECT_EQ(pipe(err.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    if (!environment.empty()) putenv(strdup(environment.c_str()));
    arguments.insert(arguments.begin(), "klab");
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    execv(KLAB_PROGRAM, argv.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  Spoken o;
  std::array<pollfd, 2> wait_for{pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  int open = 2;
  while (open > 0 && poll(wait_for.data(), 2, -1) > 0)
    for (size_t i = 0; i < 2; ++i) {
      if (wait_for[i].fd < 0 || wait_for[i].revents == 0) continue;
      std::array<char, 4096> part{};
      const ssize_t n = read(wait_for[i].fd, part.data(), part.size());
      if (n > 0) {
        (i == 0 ? o.out : o.err).append(part.data(), size_t(n));
        continue;
      }
      close(wait_for[i].fd);
      wait_for[i].fd = -1;
      --open;
    }
  int status = 0;
  waitpid(child, &status, 0);
  o.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return o;
}

/// The same in a terminal of 100 columns: both streams together in `out`.
Spoken klab_shows(std::vector<std::string> arguments, const std::string& environment = "") {
  int terminal = -1;
  winsize size{.ws_row = 40, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    unsetenv("COLUMNS");
    if (!environment.empty()) putenv(strdup(environment.c_str()));
    arguments.insert(arguments.begin(), "klab");
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    execv(KLAB_PROGRAM, argv.data());
    _exit(127);
  }
  Spoken o;
  std::array<char, 4096> part{};
  for (ssize_t n = 0; (n = read(terminal, part.data(), part.size())) > 0;)
    o.out.append(part.data(), size_t(n));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  o.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return o;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// No escape codes, no line that is written over.
void expect_plain(const Spoken& o) {
  EXPECT_FALSE(has(o.out, "\033")) << o.out;
  EXPECT_FALSE(has(o.err, "\033")) << o.err;
  EXPECT_FALSE(has(o.out, "\r")) << o.out;
  EXPECT_FALSE(has(o.err, "\r")) << o.err;
}

/// The first rung of the first lab: the simplest there is.
const Variant& some_variant() {
  const auto lab = std::ranges::find_if(labs(), [](const Lab& l) { return !l.ops.empty(); });
  return *variants_of(lab->ops.front().op.name).front();
}

TEST(Cli, WithoutACommandItListsThem) {
  const Spoken o = klab_says({});
  EXPECT_EQ(o.code, 0);
  for (const Command& c : commands()) EXPECT_TRUE(has(o.out, "\n  " + c.name)) << c.name;
  EXPECT_TRUE(has(o.out, "test"));
}

TEST(Cli, EveryCommandHasHelpAndASummary) {
  for (const Command& c : commands()) {
    EXPECT_FALSE(c.summary.empty()) << c.name;
    const Spoken o = klab_says({c.name, "--help"});
    EXPECT_EQ(o.code, 0) << c.name;
    EXPECT_TRUE(has(o.out, c.summary)) << c.name;
    EXPECT_TRUE(has(o.out, "--threads")) << c.name;
    EXPECT_TRUE(has(o.out, "--seed")) << c.name;
    expect_plain(o);
  }
}

TEST(Cli, UnknownCommandsAndOptionsGetTheNearestNames) {
  Spoken o = klab_says({"chekc"});
  EXPECT_EQ(o.code, 2);
  EXPECT_TRUE(o.out.empty()) << o.out;
  EXPECT_TRUE(has(o.err, "check")) << o.err;
  o = klab_says({"check", "--quik"});
  EXPECT_EQ(o.code, 2);
  EXPECT_TRUE(has(o.err, "--quick")) << o.err;
  o = klab_says({"--sede=3", "list"});
  EXPECT_EQ(o.code, 2);
  EXPECT_TRUE(has(o.err, "--seed")) << o.err;
  o = klab_says({"doctor", "extra"});
  EXPECT_EQ(o.code, 2);
  EXPECT_TRUE(has(o.err, "extra")) << o.err;
}

// A number that a command takes is checked against a range that its help names: no option is left to the parser, which
// takes NaN and cuts what is too large.
TEST(Cli, EveryNumberHasARange) {
  int numbers = 0;
  for (const Command& command : commands()) {
    CLI::App app;
    command.setup(app);
    for (const CLI::Option* option : app.get_options()) {
      const std::string type = option->get_type_name();
      if (!type.starts_with("INT") && !type.starts_with("UINT") && !type.starts_with("FLOAT")) continue;
      ++numbers;
      EXPECT_TRUE(has(type, ":from ")) << command.name << " " << option->get_name() << ": " << type;
    }
  }
  EXPECT_GT(numbers, 20);
}

TEST(Cli, RefusesMalformedAndTooLargeNumbers) {
  for (const auto& [text, good] : {std::pair{"1", true},
                                   {"18446744073709551615", true},
                                   {"18446744073709551616", false},
                                   {"99999999999999999999999", false},
                                   {"0x10", false},
                                   {"1e3", false},
                                   {"-1", false},
                                   {"", false},
                                   {" 1", false},
                                   {"nan", false}}) {
    const auto parse = [&] { number_from<uint64_t>(text, range::seed); };
    if (good)
      EXPECT_NO_THROW(parse()) << text;
    else
      EXPECT_THROW(parse(), std::invalid_argument) << text;
  }
  for (const char* text : {"nan", "inf", "-inf", "1e400", "1e-400x", "1,5"})
    EXPECT_THROW(number_from<double>(text, range::seconds), std::invalid_argument) << text;
  const Spoken o = klab_says({"list", "--seed", "18446744073709551616"});
  EXPECT_EQ(o.code, 2);
  EXPECT_TRUE(has(o.err, "from 0 to 18446744073709551615")) << o.err;
}

TEST(Cli, ShapesBeyondMemoryAreRefusedAtOnce) {
  const std::string id = variants_of("matmul", "cpu").front()->id;
  for (const char* shape : {"1000000,1000000,1000000", "1099511627776,1099511627776,1099511627776"})
    for (const char* command : {"check", "bench"}) {
      const Spoken o = klab_says({command, id, "--shape", shape});
      EXPECT_EQ(o.code, 2) << command << " " << shape;
      EXPECT_TRUE(has(o.err, "memory")) << o.err;
    }
}

TEST(Cli, ReportsANonFileInOneClearLine) {
  const TempFolder own;
  const std::filesystem::path folder = own.path();
  std::filesystem::create_symlink("loop", folder / "loop");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const std::vector<std::vector<std::string>> commands_of_a_file = {{"train", "built-in", "--config"},
                                                                    {"train", "built-in", "--plan"},
                                                                    {"results"},
                                                                    {"report"},
                                                                    {"regress", "--against"},
                                                                    {"train"},
                                                                    {"eval", "none", "built-in", "--plan"},
                                                                    {"render"}};
  for (const std::vector<std::string>& command : commands_of_a_file)
    for (const std::string& file : {folder.string(), (folder / "loop").string(), (folder / "pipe").string(),
                                    std::string("/dev/zero")}) {
      std::vector<std::string> arguments = command;
      arguments.push_back(file);
      const Spoken o = klab_says(arguments);
      EXPECT_EQ(o.code, 2) << command[0] << " " << file << "\n" << o.out;
      EXPECT_TRUE(o.err.starts_with("klab: ")) << o.err;
      EXPECT_FALSE(has(o.err, "basic_")) << o.err;
      EXPECT_FALSE(has(o.err, "filesystem error")) << o.err;
      EXPECT_LE(std::ranges::count(o.err, '\n'), 3) << o.err;
    }
}

TEST(Cli, BadValuesAreUsageErrors) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"list", "--threads", "0"},
                                             {"list", "--threads", "many"},
                                             {"list", "--threads"},
                                             {"list", "--seed", "-1"},
                                             {"check", "--shape", "1,x"},
                                             {"explain"},
                                             {"check", some_variant().id, "--shape", "1,2,3,4,5,6,7,8,9"},
                                             {"check", some_variant().id, "--shape", "-5"},
                                             {"list", "--backend", "cpuu"}}) {
    const Spoken o = klab_says(bad);
    EXPECT_EQ(o.code, 2) << bad.back();
    EXPECT_TRUE(o.err.starts_with("klab: ")) << o.err;
    expect_plain(o);
  }
}

TEST(Cli, NamesThatMatchNothingGetTheNearestOnes) {
  const Variant& v = some_variant();
  std::string wrong = v.op;
  std::swap(wrong[0], wrong[1]);
  for (const char* command : {"list", "check", "explain"}) {
    Spoken o = klab_says({command, wrong});
    EXPECT_EQ(o.code, 2) << command;
    EXPECT_TRUE(has(o.err, v.op)) << command << ": " << o.err;
    o = klab_says({command, "*.nothing.*"});
    EXPECT_EQ(o.code, 2) << command;
  }
}

TEST(Cli, ListNamesTheTrunksAndWithAllEveryVariant) {
  const Spoken trunks = klab_says({"list"}), o = klab_says({"list", "--all"});
  EXPECT_EQ(trunks.code, 0);
  EXPECT_EQ(o.code, 0);
  for (const Variant& v : variants()) {
    EXPECT_TRUE(has(o.out, v.id)) << v.id;
    EXPECT_EQ(has(trunks.out, "\n    " + v.id + " "), !v.branch()) << v.id;  // other rungs' texts may name it
    if (!v.branch()) continue;
    EXPECT_TRUE(has(trunks.out, "klab list " + v.op + " --all")) << v.id;
    EXPECT_TRUE(has(o.out, v.when.because)) << v.id;
    EXPECT_GT(o.out.find(v.id), o.out.find(trunk_of(v).id)) << v.id << " hangs at " << trunk_of(v).id;
  }
  expect_plain(trunks);
  expect_plain(o);
  const Spoken one = klab_says({"list", some_variant().id});
  EXPECT_TRUE(has(one.out, some_variant().id));
  EXPECT_FALSE(has(one.out, variants().back().id));
}

TEST(Cli, AcceptsFormerNames) {
  const auto renamed = std::ranges::find_if(variants(), [](const Variant& v) { return !v.was.empty(); });
  ASSERT_NE(renamed, variants().end());
  for (const std::string& old : renamed->was) {
    const Spoken o = klab_says({"list", old});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_TRUE(has(o.out, renamed->id)) << o.out;
    EXPECT_EQ(klab_says({"explain", old}).code, 0);
  }
}

TEST(Cli, ListNamesLabsThatAreProgramsWithTheirCommands) {
  const Spoken everything = klab_says({"list"});
  const auto json = nlohmann::json::parse(klab_says({"list", "--json"}).out);
  EXPECT_EQ(json["labs"].size(), labs().size());
  for (const Lab& lab : labs()) {
    EXPECT_TRUE(has(everything.out, lab.id)) << lab.id;
    EXPECT_FALSE(lab.ops.empty() && lab.commands.empty())
        << lab.id << ": a lab has ops or is run by commands";
    for (const std::string& name : lab.commands) {
      EXPECT_TRUE(std::ranges::any_of(commands(), [&](const Command& c) { return c.name == name; })) << name;
      EXPECT_TRUE(has(everything.out, "klab " + name)) << name;
      EXPECT_TRUE(has(klab_says({"list", lab.id}).out, "klab " + name)) << name;
      if (!lab.ops.empty()) continue;
      const Spoken o = klab_says({"bench", lab.id});
      EXPECT_EQ(o.code, 2);
      EXPECT_TRUE(has(o.err, "klab " + name)) << o.err;
    }
  }
}

TEST(Cli, ListAsJson) {
  const Spoken o = klab_says({"list", "--json"});
  EXPECT_EQ(o.code, 0);
  const auto j = nlohmann::json::parse(o.out);
  EXPECT_EQ(j["variants"].size(), variants().size());
  for (const auto& entry : j["variants"]) {
    const Variant* v = find_variant(entry["id"]);
    ASSERT_NE(v, nullptr);
    EXPECT_EQ(entry["file"], source_path(*v));
    EXPECT_EQ(entry["parent"].is_null(), v->parent.empty());
    EXPECT_EQ(entry["peer"], v->peer);
    EXPECT_EQ(entry["supported"], entry["reason"].is_null());
    EXPECT_FALSE(entry["header"]["change"].get<std::string>().empty());
  }
}

TEST(Cli, CheckSaysOkByName) {
  const Variant& v = some_variant();
  Spoken o = klab_says({"check", v.id, "--quick"});
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  EXPECT_TRUE(has(o.out, v.id));
  EXPECT_TRUE(has(o.out, "1 ok, 0 failed, 0 skipped")) << o.out;
  expect_plain(o);
  o = klab_says({"check", v.id, "--quick", "--json", "--threads", "1", "--seed", "7"});
  EXPECT_EQ(o.code, 0) << o.err;
  const auto j = nlohmann::json::parse(o.out);
  EXPECT_EQ(j["ok"], 1);
  EXPECT_EQ(j["variants"][0]["variant"], v.id);
  EXPECT_EQ(j["variants"][0]["verdict"], "ok");
  EXPECT_GT(j["variants"][0]["cases"], 0);
}

TEST(Cli, DoctorReportsTheEnvironment) {
  Spoken o = klab_says({"doctor"});
  EXPECT_EQ(o.code, 0);
  for (const char* word :
       {"processor", "instruction set", "caches", "memory", "g++", "cmake", "nvcc", "oneDNN", "GPU"})
    EXPECT_TRUE(has(o.out, word)) << word;
  expect_plain(o);
  o = klab_says({"doctor", "--json"});
  EXPECT_EQ(o.code, 0);
  const auto j = nlohmann::json::parse(o.out);
  EXPECT_FALSE(j["machine"]["processor"].get<std::string>().empty());
  for (const char* list : {"programs", "libraries"})
    for (const auto& tool : j[list])
      EXPECT_TRUE(!tool["required"].get<bool>() || !tool["package"].get<std::string>().empty()) << tool;
}

TEST(Cli, DoctorDoesWithoutAnyProgramOnThePath) {
  const Spoken o = klab_says({"doctor", "--json"}, "PATH=/nonexistent");
  EXPECT_EQ(o.code, 0) << o.err;
  for (const auto& tool : nlohmann::json::parse(o.out)["programs"])
    if (tool["name"] == "cmake") EXPECT_FALSE(tool["found"].get<bool>());
}

TEST(Cli, ExplainFillsALessonOrSaysThatThereIsNone) {
  const Spoken o = klab_says({"explain", some_variant().op});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_FALSE(o.out.empty());
  EXPECT_FALSE(has(o.out, "</")) << o.out;
  expect_plain(o);
}

TEST(Cli, ColorsOnATerminalOnly) {
  EXPECT_TRUE(has(klab_shows({"list"}).out, "\033[1m"));
  EXPECT_FALSE(has(klab_shows({"list"}, "NO_COLOR=1").out, "\033["));
  EXPECT_FALSE(has(klab_shows({"list"}, "TERM=dumb").out, "\033["));
  EXPECT_FALSE(has(klab_shows({"list", "--json"}).out, "\033["));
}

TEST(Cli, SurvivesAClosedPipe) {
  const int status = std::system("'" KLAB_PROGRAM "' list 2>/dev/null | head -n 1 >/dev/null");
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const int full = std::system("'" KLAB_PROGRAM "' list >/dev/full 2>/dev/null");
  EXPECT_EQ(WEXITSTATUS(full), 2);
}

}  // namespace
}  // namespace klab
