// The host executor of CUDA is checked: each wrong kernel in tests/mutants/*/cuda is caught, with the right
// name and at the right line, and the right ones next to them pass.
//
// The expected finding is in the kernel's source, in a comment on its line: "FINDING race on shared memory",
// "ERROR cudaErrorInvalidValue" for a launch that fails, or "WRONG" where only the result tells. A finding on
// a line that has no such comment is a false alarm.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "harness/check/check.h"
#include "harness/check/crash_guard.h"
#include "harness/core/buffers.h"
#include "harness/core/fill.h"
#include "harness/core/source.h"
#include "harness/simt/modules.h"
#include "harness/simt/session.h"
#include "reference/generator.h"

namespace klab {
namespace {

struct Mark {
  int line = 0;
  std::string kind;
};

struct Specimen {
  std::string id;
  std::vector<Mark> findings;
  std::string error;   // CUDA's name of it
  bool wrong = false;  // no access is wrong, but the result is
};
void PrintTo(const Specimen& s, std::ostream* out) { *out << s.id; }

Specimen read_specimen(const Variant& v) {
  Specimen s{.id = v.id, .findings = {}, .error = {}};
  std::istringstream in(read_text(v.file));
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (const size_t at = line.find("// FINDING "); at != std::string::npos)
      s.findings.push_back({number, line.substr(at + 11)});
    if (const size_t at = line.find("// ERROR "); at != std::string::npos) s.error = line.substr(at + 9);
    s.wrong = s.wrong || line.find("// WRONG") != std::string::npos;
  }
  return s;
}

const std::vector<Specimen>& specimens() {
  static const std::vector<Specimen> all = [] {
    simt::load_module(KLAB_CUDA_MUTANTS, false);
    simt::load_module(KLAB_CUDA_MUTANTS_TRACED, true);
    std::vector<Specimen> list;
    for (const Variant& v : variants())
      // Those with a class are test_mutants.cpp's: in a run at one shape nothing of them is seen.
      if (v.backend == "cuda" && v.file.find("/tests/mutants/") != v.file.npos &&
          read_text(v.file).find("// Class: ") == std::string::npos)
        list.push_back(read_specimen(v));
    std::ranges::sort(list, {}, &Specimen::id);
    return list;
  }();
  return all;
}

std::string test_name(const std::string& id) {
  std::string name = id;
  std::ranges::replace(name, '.', '_');
  return name;
}

/// A shape with edges: several blocks, none of them full.
std::vector<int64_t> shape_of_op(const std::string& op) {
  if (op == "conv2d_fwd") return {1, 1, 2, 3, 4, 37, 3, 3, 1, 1, 1, 1, 1, 1, 0};
  return op == "transpose" ? std::vector<int64_t>{45, 70} : std::vector<int64_t>{1000};
}

struct FindingRun {
  std::vector<simt::Finding> findings;
  std::string error;
};

FindingRun run(const std::string& id, std::span<const int64_t> shape, const simt::Options& options) {
  const Variant* variant = find_variant(id);
  if (variant == nullptr) throw std::logic_error(id + " is not registered");
  const LabOp& op = *find_op(variant->op);
  const auto specs = op.op.tensors(shape);
  Tensors tensors(specs, Tensors::View::variant);
  Generator random(options.seed);
  fill(op.op, shape, specs, tensors.pointers(), Pattern::random, 1, random);
  simt::load_traced_variants();
  CrashGuard guard;  // a fault in a kernel is told from one elsewhere there
  simt::Session session(options);
  FindingRun outcome;
  try {
    variant->bind(shape, tensors.pointers())();
  } catch (const simt::Error& e) {
    outcome.error = e.cuda_name();
  }
  outcome.findings = session.findings();
  return outcome;
}

class EverySpecimen : public testing::TestWithParam<Specimen> {};

TEST_P(EverySpecimen, IsFoundOutAtItsLine) {
  const Specimen& s = GetParam();
  std::vector<bool> found(s.findings.size(), false);
  for (const uint64_t seed : {1, 2, 3}) {
    const FindingRun outcome = run(s.id, shape_of_op(find_variant(s.id)->op),
                                   {.traced = true, .seed = seed, .step_limit = 2'000'000});
    for (const simt::Finding& f : outcome.findings) {
      bool expected = false;
      for (size_t k = 0; k < s.findings.size(); ++k) {
        if (s.findings[k].line != f.line) continue;
        expected = true;
        if (s.findings[k].kind == simt::name_of(f.kind)) found[k] = true;
      }
      EXPECT_TRUE(expected) << "a false alarm, with seed " << seed << ": " << f.describe();
      EXPECT_NE(f.text, "");
    }
    if (!s.error.empty()) EXPECT_EQ(outcome.error, s.error);
    if (!s.findings.empty()) EXPECT_FALSE(outcome.findings.empty()) << "nothing found with seed " << seed;
  }
  for (size_t k = 0; k < found.size(); ++k)
    EXPECT_TRUE(found[k]) << "missed: " << s.findings[k].kind << " in line " << s.findings[k].line;
}

TEST_P(EverySpecimen, FailsTheCheckOrPasses) {
  const Specimen& s = GetParam();
  const Variant* variant = find_variant(s.id);
  const CheckResult result =
      check(*find_op(variant->op), {&variant, 1}, {.max_failures = 1, .quick = true, .done = {}})
          .variants.front();
  const bool right = s.findings.empty() && s.error.empty() && !s.wrong;
  ASSERT_EQ(result.failures.empty(), right)
      << (right ? result.failures.front().note : fmt::format("it passed all {} cases", result.cases));
  if (right) return;
  if (s.wrong) {
    const Fault fault = result.failures.front().fault;
    EXPECT_TRUE(fault == Fault::wrong_value || fault == Fault::non_finite || fault == Fault::not_written ||
                fault == Fault::nondeterministic)
        << name_of(fault);
    return;
  }
  EXPECT_EQ(result.failures.front().fault, s.error.empty() ? Fault::finding : Fault::threw);
  if (!s.error.empty())
    EXPECT_TRUE(result.failures.front().note.starts_with(s.error)) << result.failures.front().note;
}

INSTANTIATE_TEST_SUITE_P(Cuda, EverySpecimen, testing::ValuesIn(specimens()),
                         [](const auto& which) { return test_name(which.param.id); });

TEST(Findings, EveryKindHasItsSpecimen) {
  std::set<std::string> kinds;
  for (const Specimen& s : specimens())
    for (const Mark& m : s.findings) kinds.insert(m.kind);
  for (const simt::Kind kind :
       {simt::Kind::out_of_bounds, simt::Kind::use_after_free, simt::Kind::uninitialized,
        simt::Kind::shared_race, simt::Kind::global_race, simt::Kind::barrier_divergence,
        simt::Kind::inactive_lane, simt::Kind::misaligned, simt::Kind::missing_wait, simt::Kind::deadlock,
        simt::Kind::never_ends, simt::Kind::trap})
    EXPECT_EQ(kinds.count(simt::name_of(kind)), 1U) << simt::name_of(kind);
}

/// Without a trace, faults of the processor itself are still reported with their line.
TEST(Findings, FaultsOfUntracedKernelsAreFindings) {
  for (const char* id : {"vector_add.cuda.93_host_pointer", "vector_add.cuda.96_divides_by_zero"}) {
    const auto at = std::ranges::find(specimens(), id, &Specimen::id);
    ASSERT_NE(at, specimens().end());
    if (at->findings.front().kind != "trap") continue;
    const FindingRun outcome = run(id, std::vector<int64_t>{1000}, {});
    ASSERT_EQ(outcome.findings.size(), 1U) << id;
    EXPECT_EQ(outcome.findings.front().line, at->findings.front().line)
        << outcome.findings.front().describe();
  }
}

TEST(Findings, AKernelThatNeverEndsIsEndedWithoutATraceToo) {
  for (const char* id : {"vector_add.cuda.85_never_ends", "vector_add.cuda.86_never_ends_together"}) {
    const auto at = std::ranges::find(specimens(), id, &Specimen::id);
    ASSERT_NE(at, specimens().end());
    const FindingRun outcome = run(id, std::vector<int64_t>{1000}, {.step_limit = 1 << 22});
    EXPECT_EQ(outcome.error, "cudaErrorLaunchTimeout");
    ASSERT_EQ(outcome.findings.size(), 1U) << id;
    EXPECT_EQ(outcome.findings.front().kind, simt::Kind::never_ends);
    EXPECT_NEAR(outcome.findings.front().line, at->findings.front().line, 2)
        << outcome.findings.front().describe();
  }
}

TEST(Findings, AreTheSameWithTheSameSeed) {
  const auto texts = [](uint64_t seed) {
    std::vector<std::string> list;
    for (const auto& f : run("transpose.cuda.80_missing_barrier", std::vector<int64_t>{45, 70},
                             {.traced = true, .seed = seed})
                             .findings)
      list.push_back(f.describe());
    return list;
  };
  EXPECT_EQ(texts(7), texts(7));
  EXPECT_FALSE(texts(7).empty());
}

TEST(Findings, NameTheKindThePlaceAndTheThread) {
  const FindingRun outcome =
      run("vector_add.cuda.80_reads_past_end", std::vector<int64_t>{1000}, {.traced = true});
  ASSERT_EQ(outcome.findings.size(), 1U);
  const std::string text = outcome.findings.front().describe();
  EXPECT_NE(text.find("out of bounds in kernel add, block (3,0,0), thread (231,0,0)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("vector_add/cuda/80_reads_past_end.cu:"), std::string::npos) << text;
  EXPECT_NE(text.find("read of 4 bytes, 0 bytes past the end of b (4000 bytes)"), std::string::npos) << text;
}

}  // namespace
}  // namespace klab
