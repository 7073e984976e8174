// Ladders keep their promises: a short trunk of rungs that are each faster than their parent, branches that
// name the size at which they pay, former names that lead to one variant.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/check/supported_shapes.h"
#include "harness/cli/counts_text.h"
#include "harness/cli/markdown.h"
#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/core/source.h"
#include "harness/records/counts.h"
#include "harness/records/rows.h"
#include "harness/step/bodies.h"
#include "tests/tree/files.h"

namespace klab {
namespace {
namespace fs = std::filesystem;

using tree::root;

/// The tours recorded on each machine.
std::vector<std::string> recorded_runs() {
  std::vector<std::string> files;
  for (const auto& machine : fs::directory_iterator(root / "reports" / "recorded"))
    if (const fs::path run = machine.path() / "run.csv"; fs::exists(run)) files.push_back(run.string());
  return files;
}

/// A check that compares nothing passes vacuously: alone or with others, every rung that this machine can run
/// at any size of its lab gets sizes that it supports, for any seed.
TEST(Ladders, EveryCheckHasShapesForEveryRung) {
  for (const Variant& v : variants()) {
    const LabOp* op = find_op(v.op);
    if (op == nullptr) continue;
    std::vector<std::vector<int64_t>> known = {v.when.shape, v.expect.shape};
    for (const BenchShape& b : op->bench) known.push_back(b.shape);
    std::erase_if(known, [&](const auto& shape) { return shape.empty() || !op->op.valid(shape); });
    if (supported_among(v, known).empty()) continue;
    const Variant* const alone[] = {&v};
    for (const uint64_t seed : {1, 2}) {
      auto shapes = supported_among(v, shapes_of_check(*op, alone, {}, seed));
      std::erase_if(shapes, [&](const auto& shape) { return is_empty(*op, shape); });
      EXPECT_GE(shapes.size(), 6U) << v.id << ", seed " << seed;
    }
  }
}

/// The learner's path: few rungs, each made from one before it on the trunk. A branch names the lab's size at
/// which it pays, and every prediction is for a size that the lab times.
TEST(Ladders, TrunksAreShortAndBranchesNameASize) {
  constexpr int longest_trunk = 9;
  std::map<std::string, int> trunks;
  int branches = 0;
  for (const Variant& v : variants()) {
    const LabOp* op = find_op(v.op);
    if (op == nullptr) continue;  // EveryOpBelongsToOneLab
    const auto benched = [&](const std::vector<int64_t>& shape) {
      return std::ranges::find(op->bench, shape, &BenchShape::shape) != op->bench.end();
    };
    const auto tour = std::ranges::find(op->bench, true, &BenchShape::tour);
    if (!v.expect.shape.empty())
      EXPECT_TRUE(benched(v.expect.shape)) << v.id << " predicts at a size that its lab does not time";
    if (v.trunk()) {
      ++trunks[v.op + "." + v.backend];
      if (const Variant* parent = find_variant(v.parent); parent != nullptr)
        EXPECT_FALSE(parent->branch())
            << v.id << " stands on the trunk, its parent " << v.parent << " does not";
      EXPECT_EQ(&trunk_of(v), &v);
      continue;
    }
    if (!v.branch()) continue;
    ++branches;
    EXPECT_FALSE(v.peer) << v.id << ": a library to race is no branch";
    EXPECT_TRUE(op->op.valid(v.when.shape)) << v.id << " pays at a size that is none";
    EXPECT_TRUE(benched(v.when.shape)) << v.id << " pays at a size that its lab does not time";
    EXPECT_FALSE(v.when.because.empty()) << v.id << " does not say why it pays there";
    if (v.backend == "cpu" && tour != op->bench.end())
      EXPECT_NE(v.when.shape, tour->shape)
          << v.id << " pays at the size of the tour: it belongs to the trunk";
    EXPECT_TRUE(trunk_of(v).trunk()) << v.id << " hangs at " << trunk_of(v).id;
    EXPECT_LT(trunk_of(v).rung, v.rung);
  }
  EXPECT_GT(branches, 0);
  for (const auto& [ladder, rungs] : trunks)
    EXPECT_LE(rungs, longest_trunk) << ladder
                                    << " has more rungs than anybody climbs: which are branches (.when)?";
}

/// In the records at the size of the tour no rung of a trunk was slower than its parent in every round.
TEST(Ladders, RecordedTrunksClimb) {
  int compared = 0;
  for (const std::string& file : recorded_runs()) {
    const Recording run = read_csv(file);
    const auto row_of = [&](const std::string& id, const Row& like) {
      return std::ranges::find_if(run.rows, [&](const Row& r) {
        return r.variant == id && r.shape == like.shape && r.cache == like.cache && r.threads == like.threads;
      });
    };
    for (const Row& r : run.rows) {
      const Variant* v = find_variant(r.variant);
      const LabOp* op = find_op(r.op);
      if (v == nullptr || op == nullptr || !v->trunk() || v->parent.empty() || r.seconds.empty()) continue;
      const auto tour = std::ranges::find(op->bench, true, &BenchShape::tour);
      if (tour == op->bench.end() || r.shape != shape_text(op->op, tour->shape)) continue;
      const auto parent = row_of(v->parent, r);
      if (parent == run.rows.end() || parent->seconds.size() != r.seconds.size()) continue;
      ++compared;
      double best = 0;
      for (size_t i = 0; i < r.seconds.size(); ++i) best = std::max(best, parent->seconds[i] / r.seconds[i]);
      EXPECT_GE(best, 1) << file << ": " << v->id << " was never faster than its parent " << v->parent
                         << " at the size of the tour: a branch (.when), or no rung";
    }
  }
  EXPECT_GT(compared, 20);
}

/// A CUDA rung has a better count than its parent among those that the tour prints, since there may be no GPU
/// to time it on.
TEST(Ladders, TrunkRungsOfCudaHaveAPrintedCountBelowTheirParents) {
  if (this_host().gpu) GTEST_SKIP() << "there is a GPU: CUDA rungs are timed";
  int compared = 0;
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops) {
      // Counting is what this test costs, so it counts the trunk and the parents of the trunk only.
      std::vector<const Variant*> ladder = variants_of(op.op.name, "cuda");
      std::erase_if(ladder, [all = ladder](const Variant* v) {
        return !v->trunk() &&
               std::ranges::none_of(all, [&](const Variant* w) { return w->trunk() && w->parent == v->id; });
      });
      const std::vector<Row> rows = counted_rows(op, ladder);
      const auto counted = [&](const std::string& id) -> const Row* {
        const auto at = std::ranges::find(rows, id, &Row::variant);
        return at == rows.end() || at->counts.empty() ? nullptr : &*at;
      };
      for (const Variant* v : ladder) {
        const Row *row = counted(v->id), *parent = counted(v->parent);
        if (!v->trunk() || row == nullptr || parent == nullptr) continue;
        ++compared;
        EXPECT_TRUE(fewer_than(*row, *parent))
            << v->id << ": no count that the tour prints is lower than that of " << v->parent << " at "
            << row->shape << ": another shape (LabOp::counted_tour), a branch (.when), or no rung";
      }
    }
  EXPECT_GT(compared, 30);
}

/// The lines of a kernel's code that are its own: no comments, no blank lines, and not the frame that every
/// file of its kind has, includes, namespaces, Highway's targets, closing brackets.
std::multiset<std::string> own_lines(const Variant& v) {
  static const std::regex frame(
      R"(#include.*|KLAB_SIMD_(BEGIN|ONCE|CLOSE)\(.*\);|namespace.*|#if HWY_ONCE|#endif|[{}();\]]+)");
  std::multiset<std::string> lines;
  std::istringstream in(source_text(v));
  for (std::string line; std::getline(in, line);) {
    line = line.substr(0, line.find("//"));
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    line = line.substr(begin, line.find_last_not_of(' ') - begin + 1);
    if (!std::regex_match(line, frame)) lines.insert(line);
  }
  return lines;
}

/// One rung is one idea: the new lines of its file against the parent's fit on a page. Moved lines are not
/// new. A rung that the host cannot run is no step, so it may be longer; so may a branch, which is not on the
/// learner's path.
TEST(Ladders, ARungHasAtMostAHundredNewLines) {
  int measured = 0;
  for (const Variant& v : variants()) {
    const LabOp* op = find_op(v.op);
    const Variant* parent = find_variant(v.parent);
    if (op == nullptr || parent == nullptr || v.peer) continue;
    if (v.backend == "cuda" && !v.supported(op->bench.front().shape, host_of(v)).empty()) continue;
    const auto own = own_lines(v), before = own_lines(*parent);
    std::vector<std::string> fresh;
    std::ranges::set_difference(own, before, std::back_inserter(fresh));
    ++measured;
    const size_t most = v.branch() ? 140 : 100;
    EXPECT_LE(fresh.size(), most) << v.id << " has more new lines against " << v.parent
                                  << " than a lesson has: a rung in between, or shorter code";
  }
  EXPECT_GT(measured, 100);
}

TEST(Ladders, FormerNamesLeadToOneVariant) {
  int names = 0;
  for (const Variant& v : variants())
    for (const std::string& old : v.was) {
      ++names;
      EXPECT_EQ(find_variant(old), &v) << old;
      EXPECT_EQ(current_id(old), v.id);
    }
  EXPECT_GT(names, 0);
  EXPECT_EQ(current_id("matmul.cpu.00_never"), "matmul.cpu.00_never");
}

/// "TRIED see NOTES.md, cpu.07_carry" leads to a section of the op's notes.
TEST(Ladders, NotesHaveTheSectionsThatRungsReferTo) {
  static const std::regex reference(R"(// TRIED +see NOTES\.md, ([a-z]+\.[0-9][0-9]_[a-z0-9_]+)\n)");
  int referring = 0;
  for (const Variant& v : variants()) {
    const std::string text = read_text(root / source_path(v));
    std::smatch m;
    if (!std::regex_search(text, m, reference)) continue;
    ++referring;
    EXPECT_EQ(m[1], v.backend + "." + v.rung) << v.id;
    const fs::path notes = root / "kernels" / v.op / "NOTES.md";
    ASSERT_TRUE(fs::exists(notes)) << v.id << " refers to " << notes;
    EXPECT_NE(section_of(read_text(notes), m[1]), "") << notes << " has no section \"## " << m[1] << "\"";
  }
  EXPECT_GT(referring, 0);
}

TEST(LaddersDeathTest, AFormerNameOfTwoVariantsEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ASSERT_GE(variants().size(), 2U);
  const Variant& first = variants().front();
  Variant fresh = first;
  fresh.rung = "99_fresh";
  fresh.id = first.op + "." + first.backend + "." + fresh.rung;
  fresh.file = "kernels/elsewhere/99_fresh.cpp";
  fresh.was = {first.id};  // a variant has that name now
  EXPECT_EXIT(register_variant(fresh), testing::ExitedWithCode(2), "former name.*" + first.rung);
  EXPECT_EXIT(register_variant(fresh), testing::ExitedWithCode(2), "99_fresh.cpp");
  fresh.was = {fresh.id};
  EXPECT_EXIT(register_variant(fresh), testing::ExitedWithCode(2), "99_fresh.cpp");
  const auto renamed = std::ranges::find_if(variants(), [](const Variant& v) { return !v.was.empty(); });
  ASSERT_NE(renamed, variants().end());
  fresh.was = {renamed->was.front()};  // another one had it
  EXPECT_EXIT(register_variant(fresh), testing::ExitedWithCode(2), renamed->rung + "(.|\n)*99_fresh.cpp");
}

}  // namespace
}  // namespace klab
