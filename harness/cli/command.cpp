// Collects the commands, parses the command line, runs one command.
#include "harness/cli/command.h"

#include <omp.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <sstream>

#include "harness/cli/number_option.h"
#include "harness/core/project_info.h"
#include "harness/core/select.h"
#include "harness/gpu/gpu.h"
#include "harness/report/table.h"
#include "harness/report/wrap.h"
#include "harness/timing/machine.h"
#include "harness/timing/processor_quota.h"

namespace klab {
namespace {

std::vector<Command>& storage() {
  static std::vector<Command> list;
  return list;
}

Settings& mutable_settings() {
  static Settings s;
  return s;
}

int complain(const std::string& text) {
  std::fflush(stdout);
  std::fprintf(stderr, "klab: %s\n", text.c_str());
  return exit_usage;
}

void add_settings(CLI::App& app) {
  Settings& s = mutable_settings();
  add_number(app, "--threads", s.threads, range::threads, "threads to use (default: all)")
      ->group("Everywhere");
  add_number(app, "--seed", s.seed, range::seed, "seed of every random number (default: 1)")
      ->each([&s](const std::string&) { s.seed_given = true; })
      ->group("Everywhere");
  app.add_option("--isa", s.isa, "instruction set for vectors (default: the best here; doctor lists them)")
      ->group("Everywhere");
}

/// Reports unknown arguments. Done here rather than by CLI11, so that the message can name the nearest
/// options.
int complain_of_extras(const CLI::App& root, const CLI::App* command,
                       const std::vector<std::string>& extras) {
  const std::string& first = extras.front();
  if (first.starts_with("-") && first.size() > 1) {
    std::vector<std::string> names;
    const std::string wrong = first.substr(0, first.find('='));
    for (const CLI::Option* option : (command ? command : &root)->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    const std::string kind = command ? "option of '" + command->get_name() + "'" : "option";
    return complain(not_found_text(kind, wrong, names) + "\n" + project_info().name + " " +
                    (command ? command->get_name() + " " : "") + "--help lists the options.");
  }
  if (command != nullptr)
    return complain("'" + command->get_name() + "' does not take '" + first + "' here\n" +
                    project_info().name + " " + command->get_name() + " --help says what it takes.");
  std::vector<std::string> names;
  for (const Command& c : commands()) names.push_back(c.name);
  names.insert(names.end(), {"test", "tidy", "format"});  // commands of the launcher
  return complain(not_found_text("command", first, names) + "\n" + project_info().name +
                  " --help lists the commands.");
}

/// Sets the number of threads: as asked; else all, or what a quota of processor time allows. A number that the environment
/// asks of OpenMP is left alone.
void choose_threads() {
  if (settings().threads > 0) return omp_set_num_threads(settings().threads);
  const char* asked = std::getenv("OMP_NUM_THREADS");
  if (asked != nullptr && *asked != '\0') return;
  const auto quota = processor_quota();
  const int all = omp_get_max_threads(), within = threads_within_quota(all, quota);
  if (within == all) return;
  omp_set_num_threads(within);
  setenv("OMP_NUM_THREADS", std::to_string(within).c_str(), 1);  // processes started from here need no note
  std::fprintf(stderr,
               "klab: a control group gives this process %.2g of %d processors: %d thread%s (--threads sets "
               "another number)\n",
               *quota, all, within, within == 1 ? "" : "s");
}

constexpr int kDescriptions = 26;  // the column in which descriptions of options begin

/// Replaces klab as the name of the program, "klab check", by the present one's.
std::string named_here(std::string text) {
  const std::string& name = project_info().name;
  if (name == "klab") return text;
  const std::string from = "klab ";
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += name.size() + 1) {
    const bool alone =
        at == 0 || !(std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '/');
    const bool command =
        at + from.size() < text.size() && std::islower(static_cast<unsigned char>(text[at + from.size()]));
    if (alone && command) text.replace(at, from.size(), name + " ");
  }
  return text;
}

/// Returns the help of the command that was asked for. What does not fit goes on below the descriptions.
std::string help_text(const CLI::App& root) {
  std::string text;
  std::istringstream in(root.help());
  for (std::string line; std::getline(in, line);)
    text += fitted(line + "\n", paper(), line.starts_with("  ") ? kDescriptions - 2 : 0);
  return text;
}

/// Returns the name and the meaning of the first missing argument of a command; empty if none is missing.
std::string missing_argument(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    std::string name = option->get_name();
    if (option->get_positional())
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::toupper(c)); });
    return command.get_name() + " needs " + name + ": " + option->get_description();
  }
  return "";
}

int parse_and_run(int argc, const char* const* argv) {
  const std::string& name_here = project_info().name;
  const bool own = name_here != "klab";  // a program of another project
  CLI::App root(own ? name_here + ": kernels checked and timed by klab." : "klab: a kernel-optimization lab.",
                name_here);
  root.allow_extras();
  // A name behind the command is an argument, also where a command is called that: klab schema check.
  root.require_subcommand(0, 1);
  root.get_formatter()->column_width(kDescriptions);
  const char* const launcher =
      "\nThe launcher ./klab adds:\n"
      "  test                    build and run every test, the sanitizer build included\n"
      "  tidy, format            clang-tidy and clang-format over klab's own files\n";
  root.footer((own ? "" : std::string(launcher)) + "\n" +
              named_here("KLAB_LAST_LEVEL_CACHE=300MB in the environment: time as on a machine with such a "
                         "last-level cache.\n\n"
                         "Start with: klab run, klab list, klab explain 01. Exit codes: 0 fine, 1 a check "
                         "failed, 2 bad input,\n"
                         "130 interrupted."));
  add_settings(root);
  std::map<const CLI::App*, std::function<int()>> runs;
  for (const Command& command : commands()) {
    CLI::App* app = root.add_subcommand(command.name, named_here(command.summary));
    app->allow_extras();
    if (!command.details.empty()) app->footer("\n" + named_here(command.details));
    runs[app] = command.setup(*app);
    add_settings(*app);
  }
  const auto dashes =
      std::find_if(argv, argv + argc, [](const char* a) { return std::string_view(a) == "--"; });
  mutable_settings().rest.assign(std::min(dashes + 1, argv + argc), argv + argc);
  try {
    root.parse(int(dashes - argv), argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(help_text(root).c_str(), stdout);
    return exit_ok;
  } catch (const CLI::ParseError& error) {
    const auto asked = root.get_subcommands();
    const std::string name = asked.empty() ? "" : asked.front()->get_name() + " ";
    const bool missing = error.get_exit_code() == int(CLI::ExitCodes::RequiredError) && !asked.empty();
    const std::string argument = missing ? missing_argument(*asked.front()) : "";
    return complain((argument.empty() ? std::string(error.what()) : argument) + "\n" + project_info().name +
                    " " + name + "--help says what it takes.");
  }
  const auto chosen = root.get_subcommands();
  const CLI::App* command = chosen.empty() ? nullptr : chosen.front();
  if (const auto extras = root.remaining(true); !extras.empty())
    return complain_of_extras(root, command, extras);
  if (command == nullptr) {
    std::fputs(help_text(root).c_str(), stdout);
    return exit_ok;
  }
  if (!settings().rest.empty() && std::ranges::none_of(commands(), [&](const Command& c) {
        return c.takes_rest && c.name == command->get_name();
      }))
    return complain("'" + command->get_name() + "' takes nothing behind --");
  require_cache_variable();
  if (!settings().isa.empty()) use_instruction_set(settings().isa);
  choose_threads();
  const int code = runs.at(command)();
  if (std::fflush(stdout) != 0) return complain("could not write to standard output");
  return code;
}

}  // namespace

const Settings& settings() { return mutable_settings(); }

const std::vector<Command>& commands() { return storage(); }

CommandRegistrar::CommandRegistrar(const char* file, Command command) {
  command.file = file;
  auto& list = storage();
  const auto at = std::lower_bound(list.begin(), list.end(), command,
                                   [](const Command& a, const Command& b) { return a.name < b.name; });
  if (at != list.end() && at->name == command.name) {
    std::fprintf(stderr, "klab: two commands are called %s:\n  %s\n  %s\n", command.name.c_str(),
                 at->file.c_str(), file);
    std::exit(exit_usage);
  }
  list.insert(at, std::move(command));
}

int run_command_line(int argc, const char* const* argv) {
  // Also in a pipe: readers see each line at once.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  try {
    return parse_and_run(argc, argv);
  } catch (const GpuOutOfMemory& error) {
    return complain(std::string("the GPU has not enough memory for this (") + error.what() +
                    "); try it at a smaller size");
  } catch (const std::bad_alloc&) {
    return complain("there is not enough memory for this; try it at a smaller size");
  } catch (const std::filesystem::filesystem_error& error) {
    return complain(error.path1().string() + ": " + error.code().message());
  } catch (const std::exception& error) {
    return complain(error.what());
  } catch (...) {
    return complain("an exception of unknown type left the command");
  }
}

}  // namespace klab
