// The frame of the command line: one file per command, each registering itself, so that a lab can add its
// own.
//
//   // harness/cli/cmd_greet.cpp
//   #include <CLI/CLI.hpp>
//   #include "harness/cli/command.h"
//
//   KLAB_COMMAND({.name = "greet", .summary = "say hello", .setup = [](CLI::App& app) -> std::function<int()>
//   {
//     auto name = std::make_shared<std::string>("world");
//     app.add_option("name", *name, "whom");
//     return [name] { fmt::print("hello {}
// ", *name); return exit_ok; };
//   }});
//
// An exception thrown by a command is printed as "klab: <what>" on stderr, with exit code 2. The frame adds
// --threads, --seed and --isa to every command; their values are in settings() when the command runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace klab {

/// Exit codes of klab.
inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;  // a check failed, or a variant became slower
inline constexpr int exit_usage = 2;   // bad input, an unknown name, or an operation that failed

/// Options of every command.
struct Settings {
  int threads = 0;  // 0: all; already set in OpenMP when a command runs
  uint64_t seed = 1;
  bool seed_given = false;
  std::vector<std::string> rest;  // arguments after `--`, for commands that accept them
  std::string isa;  // Highway's name of an instruction set, in force when a command runs. Empty: the best
};
const Settings& settings();

struct Command {
  std::string name;
  std::string summary;  // one line, for the list of commands
  std::string details;  // further lines of --help; may be empty
  /// Adds the command's options and returns the function to run after parsing. Setup returns before the
  /// parse, so values that this function needs should be held in a shared_ptr.
  std::function<std::function<int()>(CLI::App&)> setup;
  bool takes_rest = false;  // accepts arguments after `--`, passed through in settings().rest
  std::string file = {};    // set by the registrar
};

/// Returns all commands by name.
const std::vector<Command>& commands();

/// Adds a command. A second one of that name ends the program with a message that names both files.
class CommandRegistrar {
 public:
  CommandRegistrar(const char* file, Command command);
};

/// Runs the program: parses, runs one command, and turns exceptions into a message and an exit code.
int run_command_line(int argc, const char* const* argv);

}  // namespace klab

#define KLAB_COMMAND(...) const ::klab::CommandRegistrar klab_command_registrar(__FILE__, __VA_ARGS__)
