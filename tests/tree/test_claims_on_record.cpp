// Claims on record: each has a verdict or a reason, and the pages and lessons show them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "harness/cli/report_file.h"
#include "harness/core/source.h"
#include "labs/learning/experiments/claims_page.h"
#include "labs/learning/experiments/figure.h"
#include "labs/learning/experiments/recording.h"

namespace klab::learning {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::vector<Standing>& recorded() {
  static const std::vector<Standing> all = standings(all_claims(), source_root(), "");
  return all;
}

TEST(ClaimsOnRecord, AreStatedInFull) {
  std::set<std::string> ids;
  for (const Claim& c : all_claims()) {
    SCOPED_TRACE(c.id);
    EXPECT_TRUE(ids.insert(c.id).second) << "two claims have this id";
    EXPECT_FALSE(c.said.empty() || c.said.ends_with('.'));
    EXPECT_FALSE(c.metric.empty());
    EXPECT_TRUE(std::set<std::string>({"course", "plan", "paper", "post"}).contains(c.source)) << c.source;
    EXPECT_NE(c.rule, ClaimRule{}) << "holds whatever is measured";
    EXPECT_EQ(c.kind == ClaimKind::gpu, !c.faster.empty());
    EXPECT_TRUE(c.kind == ClaimKind::gpu || experiment_of(c) != nullptr) << "no experiment decides it";
  }
  for (const Experiment& e : experiments()) EXPECT_FALSE(e.claims.empty()) << e.name << " declares no claim";
}

/// The list of exceptions holds no claim that has a verdict, so it can only shrink.
TEST(ClaimsOnRecord, HaveAVerdictOrAReason) {
  const auto reasons = unrecorded_claims(source_root());
  std::set<std::string> ids;
  for (const Standing& s : recorded()) {
    ids.insert(s.claim.id);
    if (s.entry)
      EXPECT_FALSE(reasons.contains(s.claim.id))
          << s.claim.id << " is on record; take it out of reports/claims_unrecorded.csv";
    else if (s.claim.kind == ClaimKind::gpu)
      EXPECT_TRUE(waits_for_gpu(source_root(), s.claim.faster))
          << s.claim.id << ": neither timed nor in the queue";
    else
      EXPECT_TRUE(reasons.contains(s.claim.id))
          << s.claim.id << ": " << s.missing << "; klab claims --all " << s.claim.id;
  }
  for (const auto& [id, reason] : reasons)
    EXPECT_TRUE(ids.contains(id)) << "reports/claims_unrecorded.csv: no claim " << id;
}

TEST(ClaimsOnRecord, TakeThreeSeedsWhereSomethingIsRandom) {
  for (const Standing& s : recorded()) {
    if (!s.entry) continue;
    SCOPED_TRACE(s.claim.id);
    const std::set<uint64_t> seeds(s.entry->seeds.begin(), s.entry->seeds.end());
    if (s.claim.kind != ClaimKind::gpu) EXPECT_GE(seeds.size(), least_values(s.claim.kind));
    EXPECT_EQ(seeds.size(), s.entry->seeds.size());
    if (s.entry->verdict() == ClaimVerdict::depends)
      EXPECT_TRUE(s.entry->depends_text().find("; ") != std::string::npos) << s.entry->depends_text();
  }
}

/// A run of one seed takes twenty minutes at most, all of them together six hours of two cores.
TEST(ClaimsOnRecord, AreMadeInShortRuns) {
  std::map<std::string, double> of_experiment;
  for (const Standing& s : recorded()) {
    if (!s.entry || s.entry->seeds.empty()) continue;
    const double runs = experiment_of(s.claim)->own_seeds > 1 ? 1 : double(s.entry->seeds.size());
    EXPECT_LT(s.entry->seconds / runs, 1200) << s.claim.id;
    double& most = of_experiment[s.claim.experiment()];
    most = std::max(most, s.entry->seconds);
  }
  double sum = 0;
  for (const auto& [name, seconds] : of_experiment) sum += seconds;
  EXPECT_LT(sum, 12 * 3600);
  EXPECT_GT(of_experiment.size(), 10U);
}

TEST(ClaimsOnRecord, StandOnThePageAndInTheLessons) {
  EXPECT_TRUE(claims_page(recorded()) == text_of(source_root() / "docs" / "claims.md"))
      << "klab claims --page >docs/claims.md makes the page again";
  int tables = 0;
  for (const auto& lab : fs::directory_iterator(source_root() / "labs")) {
    const fs::path file = lab.path() / "README.md";
    const std::string lesson = text_of(file);
    EXPECT_TRUE(with_claims(lesson, recorded(), file.string()) == lesson)
        << file << ": klab claims --lessons makes its tables again";
    tables += lesson.find("<!-- claims: ") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(tables, 4);
  EXPECT_THROW(with_claims("<!-- claims: norms -->\n", recorded(), "a lesson"), std::invalid_argument);
  EXPECT_THROW(with_claims("<!-- claims: none -->\n<!-- end of claims -->\n", recorded(), "a lesson"),
               std::invalid_argument);
}

TEST(ClaimsOnRecord, AreNamedByExperimentOrById) {
  const std::string ends = "<!-- end of claims -->\n";
  const auto rows = [](const std::string& text) { return std::ranges::count(text, '\n') - 4; };
  const std::string one = with_claims("<!-- claims: quadratic.newton -->\n" + ends, recorded(), "a lesson");
  EXPECT_NE(one.find("Newton"), std::string::npos) << one;
  EXPECT_EQ(rows(one), 1) << one;
  const std::string all = with_claims("<!-- claims: quadratic -->\n" + ends, recorded(), "a lesson");
  EXPECT_GT(rows(all), 1) << all;
  EXPECT_THROW(with_claims("<!-- claims: quadratic.newtons -->\n" + ends, recorded(), "a lesson"),
               std::invalid_argument);
}

/// A picture of an experiment is that of its present edition, folded away in a lesson below a question.
TEST(Figures, AreOfThePresentEditionBelowAQuestion) {
  std::map<std::string, const Experiment*> named;
  for (const Experiment& e : experiments()) named[e.name] = &e;
  std::map<std::string, int> shown;
  for (const auto& lab : fs::directory_iterator(source_root() / "labs")) {
    const std::string lesson = text_of(lab.path() / "README.md"), link = "](../../docs/figures/";
    for (size_t at = 0; (at = lesson.find(link, at)) != std::string::npos; ++at) {
      const size_t name = at + link.size();
      ++shown[lesson.substr(name, lesson.find(')', name) - name)];
      const size_t fold = lesson.rfind("<details><summary>", at), heading = lesson.rfind("\n#", fold);
      EXPECT_LT(lesson.rfind("</details>", at) + 1, fold + 1) << lab.path() << ": a picture is shown at once";
      EXPECT_NE(lesson.substr(heading, fold - heading).find('?'), std::string::npos)
          << lab.path() << ": no question stands above " << lesson.substr(at, 60);
    }
  }
  EXPECT_GE(shown.size(), 10U);
  for (const auto& [name, count] : shown)
    EXPECT_TRUE(fs::exists(source_root() / "docs" / "figures" / name)) << name << " is not there";
  for (const auto& file : fs::directory_iterator(source_root() / "docs" / "figures")) {
    EXPECT_EQ(shown.count(file.path().filename()), 1U) << file.path() << " is in no lesson";
    const auto experiment = named.find(file.path().stem());
    if (experiment == named.end())
      continue;  // tests/cli/test_experiment_figures.sh makes those of klab autodiff
    EXPECT_NE(text_of(file.path()).find("<!-- " + figure_note(*experiment->second, 1) + " -->"),
              std::string::npos)
        << "klab experiment " << experiment->first << " --figures docs/figures makes " << file.path()
        << " again";
    EXPECT_LT(fs::file_size(file.path()), 100'000U) << file.path();
  }
}

/// The tour ends with this line, and the report of rows has these claims.
TEST(ClaimsOnRecord, StandInTourAndReport) {
  EXPECT_TRUE(claims_line().starts_with("Claims on record: ")) << claims_line();
  EXPECT_NE(claims_line().find(" held, "), std::string::npos) << claims_line();
  const auto claims = claims_on_record({});
  for (const Standing& s : recorded())
    if (s.entry)
      EXPECT_NE(std::ranges::find(claims, s.claim.id, [](const ClaimEntry& e) { return e.claim.id; }),
                claims.end())
          << s.claim.id;
}

/// The rungs and sizes are those of the GPU's rows.
TEST(ClaimsOnRecord, OfAGpuComeFromItsRows) {
  for (const Standing& s : recorded()) {
    if (s.claim.kind != ClaimKind::gpu || !s.entry) continue;
    EXPECT_FALSE(s.entry->rows_of.empty()) << s.claim.id;
    for (const ClaimRow& row : s.entry->rows) {
      ASSERT_EQ(row.values.size(), 3U);
      EXPECT_TRUE(row.values[0] <= row.values[1] && row.values[1] <= row.values[2]) << s.claim.id;
    }
  }
  // A claim about a processor has the processors in its conditions; copies are what makes the difference.
  double alone = 0, copied = 0;
  for (const Standing& s : recorded()) {
    if (s.claim.slower.find(".cpu.") == std::string::npos) continue;
    ASSERT_TRUE(s.entry) << s.claim.id;
    EXPECT_NE(s.entry->rows.front().condition.find(" threads of "), std::string::npos) << s.claim.id;
    if (s.claim.id == "gpu_and_processor.vector_add") alone = s.entry->low();
    if (s.claim.id == "gpu_and_processor.vector_add_copied") copied = s.entry->high();
  }
  EXPECT_GT(alone, copied);
  EXPECT_GT(copied, 0);
  Claim none{.id = "gpu.none",
             .said = "",
             .source = "post",
             .metric = "",
             .rule = at_least(1),
             .kind = ClaimKind::gpu};
  none.faster = "composite_fwd.cuda.99_none", none.slower = "composite_fwd.cuda.01_serial";
  EXPECT_EQ(from_gpu_rows(none, source_root()), std::nullopt);
  EXPECT_FALSE(waits_for_gpu(source_root(), none.faster));
}

}  // namespace
}  // namespace klab::learning
