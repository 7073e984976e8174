#include "harness/step/mutate.h"
#include "harness/step/bodies.h"

#include <fmt/core.h>

#include <fstream>
#include <stdexcept>

#include "harness/check/failure_text.h"
#include "harness/core/source.h"
#include "harness/step/answer.h"
#include "harness/step/process.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

void write_source(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string() + ": is the disk full?");
}

}  // namespace

// Lists every outcome: a new one does not compile until somebody decides what it says of a mutant.
MutantResult::How how_of(Outcome outcome) {
  using How = MutantResult::How;
  switch (outcome) {
    case Outcome::passed:
    case Outcome::untimed:
    case Outcome::undecided:
    case Outcome::no_faster:
      return How::survived;
    case Outcome::unchanged:
      return How::equivalent;
    case Outcome::does_not_compile:
    case Outcome::no_variant:
    case Outcome::forbidden:
      return How::does_not_compile;
    case Outcome::harness:
    case Outcome::missing:
      return How::not_judged;
    case Outcome::wrong:
    case Outcome::out_of_bounds:
    case Outcome::changes_inputs:
    case Outcome::stale_results:
    case Outcome::nondeterministic:
    case Outcome::unsafe:
    case Outcome::throws:
    case Outcome::prints:
    case Outcome::exits:
    case Outcome::crashes:
    case Outcome::loops:
    case Outcome::too_much_memory:
      return How::killed;
  }
  return How::not_judged;
}

const char* name_of(MutantResult::How how) {
  switch (how) {
    case MutantResult::How::killed:
      return "killed";
    case MutantResult::How::survived:
      return "survived";
    case MutantResult::How::does_not_compile:
      return "does not compile";
    case MutantResult::How::equivalent:
      return "the same machine code";
    case MutantResult::How::not_judged:
      return "not judged";
  }
  return "?";
}

Step step_of(const Variant& variant) {
  Step step;
  step.lab = lab_of(variant.op);
  step.op = find_op(variant.op);
  step.parent = step.own = find_variant(variant.id);
  if (step.op == nullptr || step.own == nullptr)
    throw std::runtime_error(variant.id + " belongs to no lab of this program");
  step.name = variant.id;
  return step;
}

std::vector<MutantResult> mutate(const Variant& variant, const MutateOptions& options) {
  const Step step = step_of(variant);
  const std::string name = source_path(variant);
  const std::string source = source_text(variant);
  const ScratchFolder folder;
  // Use the same name for all, since the machine code contains it.
  const fs::path file = folder.path() / ("mutant" + fs::path(name).extension().string());
  CheckStepOptions how{.seed = options.seed,
                       .threads = options.threads,
                       .time = false,
                       .seconds = options.seconds,
                       .check_seconds = options.seconds,
                       .bytes = int64_t(8) << 30,
                       .variant = true};
  write_source(file, source);
  const Answer right = check_work(step, file, how);
  if (right.outcome != Outcome::passed)
    throw std::runtime_error(
        fmt::format("{}: unchanged and compiled alone it is \"{}\" ({}): nothing can be told from "
                    "changes to it",
                    name, name_of(right.outcome), right.text));
  how.known_object = right.compiled.object;
  std::vector<MutantResult> results;
  const auto list = sampled(mutations_of(source), options.most, options.seed);
  for (const Mutation& m : list) {
    if (options.stop && options.stop()) break;
    write_source(file, m.text);
    const Answer a = check_work(step, file, how);
    MutantResult r{.variant = variant.id, .file = name, .mutation = m, .how = how_of(a.outcome)};
    r.mutation.text.clear();
    if (r.how != MutantResult::How::survived)
      r.by = a.failure ? failure_text(*a.failure) : fmt::format("{}: {}", name_of(a.outcome), a.text);
    results.push_back(std::move(r));
    if (options.progress) options.progress(results.back(), results.size(), list.size());
  }
  return results;
}

}  // namespace klab
