// The watched run of a CPU variant's threads: what thread_races.h has seen, in the words of a check.
#include <fmt/core.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "harness/check/detectors.h"
#include "harness/check/run_case.h"
#include "harness/check/thread_races.h"
#include "harness/simt/modules.h"

namespace klab {
namespace {

/// "read at kernels/sum/cpu/02_threads.cpp:31"
std::string did(const ThreadRace::Side& side) {
  const simt::SourceLine line = simt::source_of(side.pc);
  const char* how = side.atomic ? (side.write ? "changed atomically" : "read atomically")
                                : (side.write ? "written" : "read");
  return line.line > 0 ? fmt::format("{} at {}:{}", how, line.file, line.line) : how;
}

}  // namespace

void load_watched_rungs() {
  static const bool done = [] {
    const char* path = std::getenv("KLAB_WATCHED_RUNGS");
    if (path == nullptr || *path == '\0') return true;
    const std::string remedy =
        ": build the target klab_cpu_watched and name its module, or leave the variable unset";
    if (!races_are_watched())
      throw std::invalid_argument(
          "KLAB_WATCHED_RUNGS: threads are watched by a klab that GCC has built without sanitizers");
    try {
      simt::load_module(path, false);
    } catch (const std::runtime_error& e) {
      throw std::invalid_argument(std::string("KLAB_WATCHED_RUNGS: ") + e.what() + remedy);
    }
    return true;
  }();
  static_cast<void>(done);
}

void Trial::say_where(const void* address, int bytes, Failure& failure) const {
  const auto* at = static_cast<const char*>(address);
  for (size_t k = 0; k < specs_.size(); ++k) {
    const auto* begin = tensors_[k].as<const char>();
    if (at < begin || at >= begin + tensors_[k].bytes()) continue;
    failure.tensor = specs_[k].name;
    failure.index = index_text((at - begin) / size_of(specs_[k].element), specs_[k].dims);
    return;
  }
  failure.note = fmt::format("{} bytes of the variant's own memory: ", bytes);
}

std::optional<Failure> Trial::race(const Given& given) {
  prepare(given);
  std::optional<ThreadRace> seen;
  Outside outside;
  {
    RaceWatch watch;
    // What else it does wrong is seen in the usual form, which has passed.
    static_cast<void>(call_on_cpu_once(given, outside));
    for (size_t k = 0; k < specs_.size(); ++k)
      if (specs_[k].role != Role::input) watch.read(tensors_[k].data(), size_t(tensors_[k].bytes()));
    seen = watch.first();
    writers_ = watch.writers();
    all_watched_ = watch.complete();
  }
  if (!seen) return std::nullopt;
  const bool late =
      seen->earlier.pc == nullptr || seen->later.pc == nullptr;  // the other side is the caller's
  Failure failure{.fault = late ? Fault::late : Fault::race};
  say_where(seen->address, seen->bytes, failure);
  if (late) {
    failure.note += did(seen->earlier.pc != nullptr ? seen->earlier : seen->later) +
                    " by a thread that the call does not wait for";
    return describe(std::move(failure), given);
  }
  const std::string one = did(seen->earlier), other = did(seen->later);
  failure.note += one == other ? fmt::format("{} by two threads", one)
                               : fmt::format("{} by one thread and {} by another", one, other);
  failure.note += ", and nothing orders the two";
  return describe(std::move(failure), given);
}

}  // namespace klab
