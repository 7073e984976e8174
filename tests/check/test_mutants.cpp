// The checker is checked: every wrong kernel in tests/mutants fails, by the check meant for it, and every
// right one next to them passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "harness/check/check.h"
#include "harness/check/failure_text.h"
#include "harness/core/source.h"
#include "harness/simt/modules.h"
#include "tests/mutants/mutants.h"

namespace klab {
namespace {

std::string test_name_mutants(const std::string& id) {
  std::string name = id;
  std::ranges::replace(name, '.', '_');
  return name;
}

CheckResult check_one(const std::string& id) {
  const Variant* variant = find_variant(id);
  const LabOp* op = find_op(variant->op);
  return check(*op, {&variant, 1}).variants.front();
}

/// Returns the text behind `mark` in the file of a mutant, up to the next period; empty if the mark is
/// missing.
std::string said_in(const std::string& text, const std::string& mark) {
  const size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  return text.substr(at + mark.size(), text.find('.', at + mark.size()) - at - mark.size());
}

/// "bounds" of a mutant whose file says "Class: bounds." in its head: one of the kinds of mistake of which several ops have a
/// specimen; empty for all others.
std::string class_of(const Mutant& mutant) {
  return said_in(read_text(find_variant(mutant.id)->file), "// Class: ");
}

std::vector<Mutant> mutants_where(bool classed) {
  std::vector<Mutant> list;
  for (const Mutant& m : mutants())
    if (class_of(m).empty() != classed) list.push_back(m);
  return list;
}

/// The CUDA mutants that have a class. Their modules know nothing of Mutant: the fault stands in the head of the file.
std::vector<Mutant> cuda_mutants_with_a_class() {
  simt::load_module(KLAB_CUDA_MUTANTS, false);
  simt::load_module(KLAB_CUDA_MUTANTS_TRACED, true);
  const std::map<std::string, Fault> faults = {{"finding", Fault::finding},
                                               {"not_written", Fault::not_written},
                                               {"threw", Fault::threw},
                                               {"wrong_value", Fault::wrong_value}};
  std::vector<Mutant> list;
  for (const Variant& v : variants()) {
    if (v.backend != "cuda" || v.file.find("/tests/mutants/") == v.file.npos) continue;
    const std::string text = read_text(v.file);
    if (said_in(text, "// Class: ").empty()) continue;
    list.push_back({v.id, faults.at(said_in(text, "Must be caught as Fault::"))});
  }
  return list;
}

class EveryMutant : public testing::TestWithParam<Mutant> {};

TEST_P(EveryMutant, IsCaughtByTheCheckMeantForIt) {
  const CheckResult result = check_one(GetParam().id);
  ASSERT_FALSE(result.failures.empty()) << GetParam().id << " passed " << result.cases << " cases";
  for (const Failure& failure : result.failures)
    EXPECT_EQ(failure.fault, GetParam().fault) << failure_text(failure);
}

INSTANTIATE_TEST_SUITE_P(Mutants, EveryMutant, testing::ValuesIn(mutants_where(false)),
                         [](const auto& which) { return test_name_mutants(which.param.id); });

std::vector<std::string> right_probes() {
  std::vector<std::string> list;
  for (const Variant& v : variants())
    if (v.op.starts_with("probe_") && v.backend == "cpu" &&
        std::ranges::none_of(mutants(), [&](const Mutant& m) { return m.id == v.id; }))
      list.push_back(v.id);
  return list;
}

class EveryRightProbe : public testing::TestWithParam<std::string> {};

TEST_P(EveryRightProbe, Passes) {
  const CheckResult result = check_one(GetParam());
  EXPECT_GT(result.cases, 0);
  for (const Failure& failure : result.failures) ADD_FAILURE() << failure_text(failure);
}

INSTANTIATE_TEST_SUITE_P(Probes, EveryRightProbe, testing::ValuesIn(right_probes()),
                         [](const auto& which) { return test_name_mutants(which.param); });

/// Prints, for each class of mistakes and each op that has specimens of it, by which check they are caught.
TEST(Catalogue, EachClassIsCaughtOnThreeOpsAndMore) {
  std::map<std::string, std::map<std::string, std::string>> matrix;
  std::vector<Mutant> all = mutants_where(true);
  for (Mutant& m : cuda_mutants_with_a_class()) all.push_back(std::move(m));
  for (const Mutant& m : all) {
    const Variant* variant = find_variant(m.id);
    const auto result =
        check(*find_op(variant->op), {&variant, 1}, {.max_failures = 1, .done = {}}).variants.front();
    std::string& cell = matrix[class_of(m)][variant->op];
    cell += (cell.empty() ? "" : "; ") + variant->backend + "." + variant->rung + ": ";
    if (result.failures.empty()) {
      cell += "SURVIVED";
      ADD_FAILURE() << m.id << " passed " << result.cases << " cases";
      continue;
    }
    cell += std::string("killed, ") + name_of(result.failures.front().fault);
    // Which of two comes first hangs on the shapes drawn: wrong values also as a whole, what depends on garbage in memory also as
    // two runs that differ.
    const Fault fault = result.failures.front().fault;
    if ((fault == Fault::nondeterministic && (m.fault == Fault::wrong_value || m.fault == Fault::stale)) ||
        (fault == Fault::whole_output && m.fault == Fault::wrong_value))
      continue;
    EXPECT_EQ(result.failures.front().fault, m.fault)
        << m.id << ": " << failure_text(result.failures.front());
  }
  for (const auto& [name, row] : matrix) {
    std::cout << name << "\n";
    for (const auto& [op, cell] : row) std::cout << "  " << op << ": " << cell << "\n";
    EXPECT_GE(row.size(), 3U) << "specimens of " << name << " on three ops at least";
  }
  for (const char* name : {"alignment", "inputs", "sizes", "bounds", "not finite", "threads", "memory",
                           "state", "earlier calls", "after return", "messages", "boundaries"})
    EXPECT_TRUE(matrix.contains(name)) << name;
}

TEST(Mutants, CoverEveryFaultAVariantCanHave) {
  for (const Fault fault :
       {Fault::wrong_value, Fault::non_finite, Fault::out_of_bounds, Fault::input_changed, Fault::stale,
        Fault::nondeterministic, Fault::not_written, Fault::threads, Fault::late, Fault::state,
        Fault::crashed, Fault::gradient, Fault::own_forward, Fault::threw})
    EXPECT_TRUE(std::ranges::any_of(mutants(), [&](const Mutant& m) { return m.fault == fault; }))
        << name_of(fault);
}

}  // namespace
}  // namespace klab
