// The frame of the command line: one file a command, each registering itself, so that a lab can bring its
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
//     return [name] { fmt::print("hello {}\n", *name); return exit_ok; };
//   }});
//
// What a command throws becomes "klab: <what>" on stderr and exit code 2. --threads, --seed and --isa are added to
// every command by the frame; find their values in settings() when the command runs.
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

/// What klab's exit code says.
inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;  // a check failed, a variant became slower
inline constexpr int exit_usage = 2;   // bad input, an unknown name, or it could not be done

/// Options that every command has.
struct Settings {
  int threads = 0;  // 0: all; already given to OpenMP when a command runs
  uint64_t seed = 1;
  bool seed_given = false;
  std::vector<std::string> rest;  // what stands behind --, for commands that take it
  std::string isa;  // Highway's name of an instruction set; in force when a command runs. Empty: the best
};
const Settings& settings();

struct Command {
  std::string name;
  std::string summary;  // one line, for the list of commands
  std::string details;  // further lines of --help; may be empty
  /// Adds the command's options and returns what runs it once they are parsed. Values that the returned
  /// function needs are best kept in a shared_ptr, since setup returns before the parse.
  std::function<std::function<int()>(CLI::App&)> setup;
  bool takes_rest = false;  // words behind --, which are somebody else's: settings().rest
  std::string file = {};    // filled by the registrar
};

/// All commands by name.
const std::vector<Command>& commands();

/// Adds a command. A second one of that name ends the program, naming both files.
class CommandRegistrar {
 public:
  CommandRegistrar(const char* file, Command command);
};

/// The whole program: parses, runs one command, turns exceptions into a message and an exit code.
int run_command_line(int argc, const char* const* argv);

}  // namespace klab

#define KLAB_COMMAND(...) const ::klab::CommandRegistrar klab_command_registrar(__FILE__, __VA_ARGS__)
