// Records of claims: verdicts by rule, two cases where it depends, files that are refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/records/claim_record.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

ClaimEntry entry(std::vector<ClaimRow> rows, ClaimKind kind = ClaimKind::random) {
  ClaimEntry e;
  e.claim = {.id = "norms.alike",
             .said = "a claim",
             .source = "course",
             .metric = "ratio",
             .rule = at_least(1),
             .kind = kind,
             .on = rows.size() > 1 ? "the layer" : ""};
  for (size_t i = 0; i < rows.front().values.size(); ++i) e.seeds.push_back(i + 1);
  e.rows = std::move(rows);
  e.because = "measured";
  e.machine = "0123456789abcdef";
  e.commit = "abc";
  e.date = "2026-01-02";
  e.seconds = 1.5;
  return e;
}

TEST(ClaimRecord, VerdictFollowsFromTheRuleAndAllValues) {
  EXPECT_EQ(verdict_of(at_least(1), {{"", {1, 2, 3}}}), ClaimVerdict::held);
  EXPECT_EQ(verdict_of(at_most(1), {{"", {1.1, 2, 3}}}), ClaimVerdict::refuted);
  EXPECT_EQ(verdict_of(between(1, 2), {{"", {0.5, 1.5, 1.6}}}), ClaimVerdict::depends);
  EXPECT_EQ(verdict_of(between(1, 2), {{"a", {1.5}}, {"b", {2.5}}}), ClaimVerdict::depends);
  EXPECT_THROW(verdict_of(at_least(1), {}), std::invalid_argument);
  EXPECT_EQ(at_least(1.5).text(), "at least 1.5");
  EXPECT_EQ(between(9, 9).text(), "9");
  EXPECT_EQ(between(0.1, 10).text(), "from 0.1 to 10");
}

TEST(ClaimRecord, NeedsThreeSeedsUnlessItIsExact) {
  EXPECT_FALSE(entry({{"", {2, 3}}}).complete());
  EXPECT_TRUE(entry({{"", {2, 3, 4}}}).complete());
  EXPECT_TRUE(entry({{"", {2}}}, ClaimKind::exact).complete());
  EXPECT_FALSE(entry({{"", {2, 3}}}, ClaimKind::gpu).complete());
}

TEST(ClaimRecord, DependsNamesTwoCasesThatDiffer) {
  EXPECT_EQ(entry({{"first", {2, 3, 4}}, {"last", {0.5, 0.25, 0.125}}}).depends_text(),
            "on the layer: first 2 to 4; last 0.125 to 0.5");
  EXPECT_EQ(entry({{"", {2, 0.5, 3}}}).depends_text(), "on the seed: seed 1 2; seed 2 0.5");
  EXPECT_EQ(entry({{"", {2, 2, 3}}}).depends_text(), "");
}

TEST(ClaimRecord, AgreesByVerdictOrByIntervals) {
  const ClaimEntry held = entry({{"", {1.1, 1.2, 1.3}}});
  EXPECT_TRUE(claims_agree(held, entry({{"", {5, 6, 7}}})));
  EXPECT_TRUE(claims_agree(held, entry({{"", {0.9, 1.15, 1.2}}})));
  EXPECT_FALSE(claims_agree(held, entry({{"", {0.7, 0.8, 0.9}}})));
}

class ClaimRecordFile : public ::testing::Test {
 protected:
  ClaimRecordFile() {
    record_.fingerprint = "0123456789abcdef";
    record_.processor = "a processor";
    record_.set(entry({{"first", {2, 3, 4}}, {"last", {0.5, 0.25, 0.125}}}));
    ClaimEntry second = entry({{"", {2, 3}}});
    second.claim.id = "norms.harder";
    record_.set(second);
  }
  /// Expects that the record, changed by `change`, is refused with a message that contains `words` and names the file.
  template <class F>
  void refused(F change, const std::string& words, const std::string& machine = "") {
    nlohmann::json j = nlohmann::json::parse(claim_record_json(record_));
    change(j);
    std::ofstream(file_) << j.dump();
    try {
      read_claim_record(file_, machine);
      FAIL() << "read, though: " << words;
    } catch (const ClaimRecordError& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find(words), std::string::npos) << what;
      EXPECT_NE(what.find("klab_claims.json"), std::string::npos) << what;
      EXPECT_NE(what.find("klab claims --all"), std::string::npos) << what;
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    }
  }
  ClaimRecord record_;
  const TempFolder folder_;
  const fs::path file_ = folder_ / "klab_claims.json";
};

TEST_F(ClaimRecordFile, ReadsWhatWasWritten) {
  std::ofstream(file_) << claim_record_json(record_);
  const ClaimRecord read = read_claim_record(file_, record_.fingerprint);
  EXPECT_EQ(read.entries, record_.entries);
  EXPECT_EQ(read.processor, record_.processor);
  EXPECT_EQ(read.find("norms.alike")->verdict(), ClaimVerdict::depends);
  EXPECT_EQ(read.find("norms.none"), nullptr);
}

TEST_F(ClaimRecordFile, RefusesAnotherVersionOrMachine) {
  refused([](nlohmann::json& j) { j["schema_version"] = 99; }, "\"schema_version\" is 99");
  refused([](nlohmann::json&) {}, "\"machine\" is 0123456789abcdef", "fedcba9876543210");
  refused([](nlohmann::json& j) { j["claims"][0]["machine"] = "fedcba9876543210"; },
          "is of machine fedcba9876543210");
}

TEST_F(ClaimRecordFile, RefusesAVerdictThatItsValuesDoNotGive) {
  refused([](nlohmann::json& j) { j["claims"][0]["verdict"] = "held"; }, "say \"depends\", not \"held\"");
  refused([](nlohmann::json& j) { j["claims"][0]["verdict"] = "perhaps"; },
          "must be one of held, refuted, depends");
  refused([](nlohmann::json& j) { j["claims"][1]["verdict"] = "held"; }, "too few seeds");
  refused([](nlohmann::json& j) { j["claims"][0].erase("verdict"); }, "\"verdict\" is missing");
}

TEST_F(ClaimRecordFile, RefusesWrongFields) {
  refused([](nlohmann::json& j) { j["claims"][0].erase("metric"); }, "\"metric\" is missing");
  refused([](nlohmann::json& j) { j["claims"][0]["rule"] = "at least 1"; }, "\"rule\"");
  refused([](nlohmann::json& j) { j["claims"][0]["rule"] = nlohmann::json::object(); }, "\"rule\"");
  refused([](nlohmann::json& j) { j["claims"][0]["rows"][0]["values"][1] = nullptr; },
          "\"values\" must be numbers");
  refused([](nlohmann::json& j) { j["claims"][0]["rows"][0]["values"].erase(1); }, "2 values for 3 seeds");
  refused([](nlohmann::json& j) { j["claims"][0]["seeds"][0] = -1; }, "\"seeds\"");
  refused([](nlohmann::json& j) { j["claims"][0]["kind"] = "lucky"; },
          "must be one of exact, random, timed, gpu");
  refused([](nlohmann::json& j) { j["claims"][1]["claim"] = "norms.alike"; }, "listed twice");
  refused([](nlohmann::json& j) { j["claims"] = 3; }, "\"claims\" must be a list");
  refused([](nlohmann::json& j) { j = nlohmann::json::array(); }, "is no object");
  std::ofstream(file_) << "{\"schema\": ";
  EXPECT_THROW(read_claim_record(file_), ClaimRecordError);
}

}  // namespace
}  // namespace klab
