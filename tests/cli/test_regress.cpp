// klab bench --baseline, compare, regress, report and bench --sweep as people call them.
// ctest: serial
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "harness/compare/sweep.h"
#include "harness/records/rows.h"
#include "harness/timing/machine.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool regress_has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct RegressOutcome {
  int code = -1;
  std::string out, err;
};

/// A folder that looks like klab's own, so that baselines land in it.
class Regress : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "kernels");
    fs::create_directories(root_ / "labs");
  }

  RegressOutcome klab(const std::string& arguments) const {
    const std::string command = "cd '" + root_.string() + "' && KLAB_ROOT='" + root_.string() +
                                "' '" KLAB_PROGRAM "' " + arguments + " >out.txt 2>err.txt </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), text_of(root_ / "out.txt"),
            text_of(root_ / "err.txt")};
  }

  fs::path recorded(const std::string& name) const {
    return root_ / "reports" / "recorded" / fingerprint(this_machine()) / name;
  }

  /// A baseline as klab bench --baseline leaves it, of made-up times.
  void put_baseline() const {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    Recording run;
    const std::pair<const char*, double> rungs[] = {
        {"01_scalar", 1e-6}, {"02_simd", 3e-7}, {"03_threads", 3.2e-7}, {"05_by_size", 2.9e-7}};
    for (int session = 1; session <= 12; ++session)
      for (const auto& [rung, seconds] : rungs) {
        Row r{.fingerprint = fingerprint(this_machine()),
              .commit = "abc",
              .lab = "01_vector_add",
              .op = "vector_add",
              .variant = std::string("vector_add.cpu.") + rung,
              .backend = "cpu",
              .size = "in L1",
              .shape = "n=2048",
              .cache = "hot",
              .threads = 1,
              .session = session,
              .bytes = 24576,
              .flops = 2048,
              .ceiling = "copy 2:1 L1",
              .ceiling_per_second = 1e11};
        for (int i = 0; i < 5; ++i) {
          r.seconds.push_back(seconds * std::exp(0.01 * normal(random)));
          r.shares.push_back(24576 / r.seconds.back() / 1e11);
        }
        r.time = median_interval(r.seconds);
        r.of_ceiling = median_interval(r.shares);
        run.rows.push_back(std::move(r));
      }
    fs::create_directories(recorded("").parent_path());
    write_run(recorded("baseline.csv").string(), run, this_machine(), {});
  }

  const TempFolder own_;
  const fs::path root_ = own_.path();
};

// The verdicts depend on other load on this machine; the exit code must follow from them.
TEST_F(Regress, ABaselineIsRecordedAndTheSameBinaryIsComparedWithIt) {
  RegressOutcome o =
      klab("bench vector_add --size L1 --sessions 6 --rounds 3 --threads 1 --baseline baseline");
  if (o.code == 2) {
    ASSERT_TRUE(regress_has(o.err, "none of the 6 sessions is usable")) << o.out << o.err;
    EXPECT_FALSE(fs::exists(recorded("baseline.csv"))) << "a baseline that decides nothing is none";
    GTEST_SKIP() << "other work took the processor in every session: " << o.err;
  }
  ASSERT_EQ(o.code, 0) << o.out << o.err;
  const Recording run = read_csv(recorded("baseline.csv").string());
  int sessions = 0;
  for (const Row& r : run.rows) {
    sessions = std::max(sessions, r.session);
    if (r.seconds.empty()) continue;
    EXPECT_EQ(r.seconds.size(), 3U);
    EXPECT_EQ(r.shares.size(), 3U) << "the ceiling of each round is kept";
  }
  EXPECT_EQ(sessions, 6);
  const auto record = nlohmann::json::parse(text_of(recorded("baseline.json")));
  EXPECT_EQ(record["machine"]["fingerprint"], fingerprint(this_machine()));
  EXPECT_TRUE(record["margins"].is_array());
  o = klab("regress vector_add --minutes 1 --json --out new.csv --junit gate.xml");
  const auto j = nlohmann::json::parse(o.out);
  const auto& sum = j["summary"];
  const int all = int(j["changes"].size());
  EXPECT_EQ(all, sum["slower"].get<int>() + sum["faster"].get<int>() + sum["same"].get<int>() +
                     sum["undecided"].get<int>());
  EXPECT_GE(sum["same"].get<int>(), 3) << "counts have no noise\n" << o.out;
  if (o.code != 2)  // noise of this machine may hide a slowdown
    EXPECT_EQ(o.code, sum["slower"] > 0 ? 1 : 0) << o.out << o.err;
  else
    EXPECT_TRUE(regress_has(o.err, "noise leaves that undecided")) << o.err;
  EXPECT_EQ(j["exit_code"], o.code);
  EXPECT_GT(read_csv((root_ / "new.csv").string()).rows.size(), 0U);
  EXPECT_TRUE(regress_has(text_of(root_ / "gate.xml"), "<testsuite"));
}

// The recorded rows with every time of one variant made longer simulate a slower binary.
TEST_F(Regress, CompareFindsChangesPlantedInRecordedRows) {
  put_baseline();
  Recording slow = read_csv(recorded("baseline.csv").string());
  for (Row& r : slow.rows)
    if (r.variant == "vector_add.cpu.02_simd") {
      for (double& s : r.seconds) s *= 1.3;
      for (double& s : r.shares) s /= 1.3;
      r.time = median_interval(r.seconds);
      r.over_naive.reset();
      r.over_parent.reset();
      r.of_ceiling.reset();
    }
  write_run((root_ / "slow.csv").string(), slow, this_machine(), {});
  RegressOutcome o = klab("compare baseline slow.csv");
  EXPECT_EQ(o.code, 1) << o.out << o.err;
  EXPECT_TRUE(regress_has(o.out, "1 SLOWER")) << o.out;
  o = klab("compare slow.csv baseline --markdown");
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  EXPECT_TRUE(regress_has(o.out, "1 FASTER")) << o.out;
  EXPECT_TRUE(regress_has(o.out, "| `vector_add.cpu.02_simd` |")) << o.out;
}

// The machine ran at two thirds of its speed, and one variant lost more by that than its anchors did.
TEST_F(Regress, AChangedMachineSpeedIsNoRegression) {
  put_baseline();
  const Recording base = read_csv(recorded("baseline.csv").string());
  const auto verdicts = [&](double machine, double more) {
    Recording run = base;
    for (Row& r : run.rows) {
      const double own = r.variant == "vector_add.cpu.02_simd" ? more : 1;
      for (double& s : r.seconds) s *= machine * own;
      for (double& s : r.shares) s /= own;
      r.time = median_interval(r.seconds);
      r.over_naive.reset();
      r.over_parent.reset();
      r.of_ceiling.reset();
    }
    write_run((root_ / "moved.csv").string(), run, this_machine(), {});
    return klab("compare baseline moved.csv");
  };
  RegressOutcome o = verdicts(1.5, 1.3);
  EXPECT_TRUE(regress_has(o.out, "the machine itself ran at 0.67 times its speed of then")) << o.out << o.err;
  EXPECT_FALSE(regress_has(o.out, "SLOWER  ")) << o.out;
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  o = verdicts(1.5, 2);  // more than the machine itself
  EXPECT_EQ(o.code, 1) << o.out << o.err;
  o = verdicts(1.1, 1.3);  // the machine hardly changed
  EXPECT_EQ(o.code, 1) << o.out << o.err;
}

// Rows of a variant that this program lacks.
TEST_F(Regress, AVariantThatIsGoneIsNamedAndIsNoPass) {
  put_baseline();
  Recording run = read_csv(recorded("baseline.csv").string());
  for (size_t i = run.rows.size(); i-- > 0;)
    if (run.rows[i].variant == "vector_add.cpu.02_simd") {
      Row gone = run.rows[i];
      gone.variant = "vector_add.cpu.77_gone";
      run.rows.push_back(gone);
    }
  write_run(recorded("baseline.csv").string(), run, this_machine(), {});
  RegressOutcome o = klab("regress vector_add.cpu.77_gone");
  EXPECT_EQ(o.code, 2) << o.out;
  EXPECT_TRUE(regress_has(o.err, "vector_add.cpu.77_gone is only in the baseline 'baseline'")) << o.err;
  o = klab("regress vector_add --strict --sessions 1 --json");
  const auto j = nlohmann::json::parse(o.out);
  ASSERT_EQ(j["missing"].size(), 1U) << o.out;
  EXPECT_TRUE(regress_has(j["missing"][0].get<std::string>(), "77_gone"));
  EXPECT_NE(o.code, 0) << o.out << o.err;
}

TEST_F(Regress, ABaselineWithoutAUsableSessionIsRefused) {
  put_baseline();
  const Recording good = read_csv(recorded("baseline.csv").string());
  const auto put = [&](auto&& change) {
    Recording run = good;
    for (Row& r : run.rows) change(r);
    write_run(recorded("baseline.csv").string(), run, this_machine(), {});
    return klab("regress vector_add --sessions 4 --minutes 1");
  };
  const auto cleared = [](Row& r) {
    r.seconds.clear(), r.shares.clear(), r.waited.clear();
    r.time = {};
    r.of_ceiling.reset();
  };
  RegressOutcome o = put([&](Row& r) {
    cleared(r);
    r.skipped = "needs a larger machine";
  });
  EXPECT_EQ(o.code, 2) << o.out;
  EXPECT_TRUE(regress_has(o.err, "has no usable session")) << o.err;
  EXPECT_TRUE(regress_has(o.err, "needs a larger machine")) << o.err;
  o = put([&](Row& r) {
    cleared(r);
    r.wrong = "wrong value in c[3]";
  });
  EXPECT_EQ(o.code, 2) << o.out;
  EXPECT_TRUE(regress_has(o.err, "wrong value in c[3]")) << o.err;
  o = put([&](Row& r) { r.error = "below the time that its work takes: no result"; });
  EXPECT_EQ(o.code, 2) << o.out;
  EXPECT_TRUE(regress_has(o.err, "has no usable session")) << o.err;
}

// The tiniest experiment: its verdicts depend on this machine, what it records and that it goes on do not.
TEST_F(Regress, TrialsOfTheGateAreRecordedAndGoOn) {
  const std::string command =
      "regress --trials 1 vector_add --size L1 --sessions 4 --rounds 3 --loads 1 --planted 35 --threads 1 "
      "--out t.json";
  RegressOutcome o = klab(command);
  ASSERT_EQ(o.code, 0) << o.out << o.err;
  const std::string before = text_of(root_ / "t.json");
  const auto record = nlohmann::json::parse(before);
  ASSERT_EQ(record["trials"].size(), 2U) << "without a slowdown and with one";
  for (const auto& t : record["trials"]) {
    EXPECT_EQ(t["load"], 1);
    EXPECT_GT(t["verdicts"].size(), 1U);
    EXPECT_TRUE(regress_has(before, t["target"].get<std::string>()));
  }
  o = klab(command);
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(text_of(root_ / "t.json"), before) << "what it holds is not run again";
  EXPECT_TRUE(regress_has(o.out, "1 trials bound a rate at")) << o.out;
  o = klab("regress --trials 1 vector_add --size L1 --sessions 5 --threads 1 --out t.json");
  EXPECT_EQ(o.code, 2) << o.out;
  EXPECT_TRUE(regress_has(o.err, "'rounds'") || regress_has(o.err, "'sessions'")) << o.err;
  o = klab("regress --trials 1 vector_add --out t.csv");
  EXPECT_EQ(o.code, 2) << o.out;
  EXPECT_TRUE(regress_has(o.err, ".json")) << o.err;
}

TEST_F(Regress, BadInputsAreNamedAndExitWithTwo) {
  put_baseline();
  const Recording good = read_csv(recorded("baseline.csv").string());
  const auto put = [&](const char* name, auto&& change) {
    Recording run = good;
    change(run);
    std::ofstream(root_ / name) << to_csv(run);
  };
  put("other.csv", [](Recording& r) {
    for (Row& row : r.rows) row.shape = "n=77";
  });
  put("machine.csv", [](Recording& r) {
    for (Row& row : r.rows) row.fingerprint = "fedcba9876543210";
  });
  put("partial.csv", [](Recording& r) { r.complete = false; });
  put("twice.csv", [](Recording& r) { r.rows.push_back(r.rows.front()); });
  put("once.csv", [](Recording& r) {
    std::erase_if(r.rows, [](const Row& row) { return row.session > 1; });
    for (Row& row : r.rows) {
      row.seconds.resize(std::min<size_t>(1, row.seconds.size()));
      row.shares.resize(row.seconds.size());
      row.waited.clear();
      if (!row.seconds.empty()) row.time = median_interval(row.seconds);
      row.over_naive.reset();
      row.over_parent.reset();
      row.of_ceiling.reset();
    }
  });
  std::string text = to_csv(good);
  std::ofstream(root_ / "cut.csv") << text.substr(0, text.size() / 2);
  std::ofstream(root_ / "column.csv") << text.replace(text.find("threads"), 7, "threadz");
  std::ofstream(root_ / "huge.csv") << to_csv(good);
  fs::resize_file(root_ / "huge.csv", 100'000'000);
  const std::pair<const char*, const char*> cases[] = {
      {"compare baseline other.csv", "nothing to compare"},
      {"compare baseline machine.csv --absolute", "absolute times cannot be compared"},
      {"compare baseline partial.csv", "interrupted"},
      {"compare baseline twice.csv", "repeats line"},
      {"compare baseline once.csv", "has 1 round"},
      {"compare baseline cut.csv", "cut"},
      {"compare baseline column.csv", "threadz"},
      {"compare baseline huge.csv", "100 MB"},
      {"compare baseline none.csv", "no such file"},
      {"compare baselin baseline", "did you mean baseline"},
      {"compare baseline baseline.json", "read from .csv"},
      {"compare baseline baseline --threshold fast", "write it as 5% or 0.05"},
      {"compare baseline baseline --threshold 5", "write it as 5% or 0.05"},
      {"regress --against once.csv", "at least 4"},
      {"regress matmul", "holds nothing of what is asked for"},
      {"regress nonsense", "nonsense"},
      {"bench vector_add --baseline ../x", "cannot be called"},
      {"bench vector_add --sweep n", "names no dimension"},
      {"bench vector_add --sweep q=1..8", "has no dimension 'q'"},
      {"report twice.csv", "repeats line"},
      {"report baseline baseline", "twice"},
      {"report baseline --train .", "result.json"},
      {"report baseline --markdown --csv", "choose one"},
      {"report baseline -o none/report.html", "cannot be written"},
  };
  for (const auto& [arguments, says] : cases) {
    const RegressOutcome o = klab(arguments);
    EXPECT_EQ(o.code, 2) << arguments << "\n" << o.out << o.err;
    EXPECT_TRUE(regress_has(o.err, says)) << arguments << ": " << o.err;
  }
  const RegressOutcome other = klab("compare baseline machine.csv");
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_TRUE(regress_has(other.out, "another machine")) << other.out;
}

TEST_F(Regress, HelpStatesTheExitCodes) {
  for (const char* command : {"compare", "regress", "bench"}) {
    const RegressOutcome o = klab(std::string(command) + " --help");
    for (const char* code : {"Exit code 0:", "1: ", "2: "})
      EXPECT_TRUE(regress_has(o.out, code)) << command << ": " << code;
  }
}

TEST_F(Regress, TheReportIsOneFileWithNothingOutside) {
  put_baseline();
  RegressOutcome o = klab("report baseline --baseline baseline -o r.html");
  ASSERT_EQ(o.code, 0) << o.err;
  const std::string html = text_of(root_ / "r.html");
  EXPECT_LT(html.size(), 3'000'000U);
  for (const char* part : {"vector_add.cpu.02_simd", "id=\"verdict\"", "in L1", "</html>"})
    EXPECT_TRUE(regress_has(html, part)) << part;
  if (std::system("gnuplot --version >/dev/null 2>&1") == 0)
    EXPECT_TRUE(regress_has(html, "<svg")) << "gnuplot draws here, but did not draw this";
  for (const char* outside : {"src=\"http", "href=\"http", "url(", "@import", "<link rel=\"stylesheet"})
    EXPECT_FALSE(regress_has(html, outside)) << outside;
  o = klab("report baseline --markdown");
  EXPECT_TRUE(regress_has(o.out, "| `02_simd` |")) << o.out;
  o = klab("report baseline --csv");
  std::istringstream lines(o.out);
  std::string head, line;
  std::getline(lines, head);
  int count = 0;
  for (; std::getline(lines, line); ++count)
    EXPECT_GE(std::count(line.begin(), line.end(), ','), std::count(head.begin(), head.end(), ',')) << line;
  EXPECT_GT(count, 3);
}

TEST_F(Regress, SweepsShowRungsThatGrowFasterThanTheirContract) {
  // Every pair of a ray's samples against a contract that counts samples: the naive rung is quadratic, 02 is not.
  const RegressOutcome o =
      klab("bench distortion_fwd --shape 64,2048 --sweep samples=2048..65536 --quick --threads 1");
  ASSERT_EQ(o.code, 0) << o.err;
  const size_t table = o.out.find("time grows as");
  ASSERT_NE(table, std::string::npos) << o.out;
  std::istringstream lines(o.out.substr(table));
  for (std::string line; std::getline(lines, line);) {
    const bool flagged = regress_has(line, "faster than its contract");
    EXPECT_FALSE(regress_has(line, "01_quadratic") && !flagged) << o.out;
    EXPECT_FALSE(regress_has(line, "02_prefix") && flagged) << o.out;
  }
}

TEST(Sweeps, AreParsed) {
  EXPECT_EQ(parse_sweep("n=2^3..2^6").values, (std::vector<int64_t>{8, 16, 32, 64}));
  EXPECT_EQ(parse_sweep("n=100..300").values, (std::vector<int64_t>{100, 200, 300}));
  EXPECT_EQ(parse_sweep("m=7,3,3").values, (std::vector<int64_t>{3, 7}));
  EXPECT_EQ(parse_sweep("threads=1..3").values, (std::vector<int64_t>{1, 2, 3}));
  for (const char* bad :
       {"", "n", "=3", "n=", "n=0..4", "n=4..2", "n=1,,2", "n=x", "n=2^99", "n=-4..4", "n=1..2..3"})
    EXPECT_THROW(parse_sweep(bad), std::invalid_argument) << bad;
}

TEST(Sweeps, SizeSetsAllSidesOfACube) {
  const LabOp* op = find_op("matmul");
  ASSERT_NE(op, nullptr);
  const auto shapes = shapes_of(parse_sweep("size=64..256"), op->op, {.name = "", .shape = {512, 512, 512}});
  ASSERT_EQ(shapes.size(), 3U);
  EXPECT_EQ(shapes[1].shape, (std::vector<int64_t>{128, 128, 128}));
  EXPECT_EQ(shapes_of(parse_sweep("k=8"), op->op, {.name = "", .shape = {512, 512, 512}})[0].shape,
            (std::vector<int64_t>{512, 512, 8}));
}

TEST(Sweeps, ExponentsAreThoseOfTheTimes) {
  std::vector<Row> rows;
  for (const double n : {1e3, 2e3, 4e3, 8e3, 1.6e4}) {
    Row r{.variant = "a.cpu.01_x", .threads = 1, .bytes = n};
    r.seconds = {1e-9 * n * std::sqrt(n)};
    r.time = median_interval(r.seconds);
    rows.push_back(r);
    r.variant = "a.cpu.02_y";
    r.seconds = {1e-9 * n};
    r.time = median_interval(r.seconds);
    rows.push_back(r);
  }
  const auto growth = growth_of(rows);
  ASSERT_EQ(growth.size(), 2U);
  EXPECT_NEAR(growth[0].exponent, 1.5, 1e-9);
  EXPECT_TRUE(growth[0].flagged);
  EXPECT_NEAR(growth[1].exponent, 1, 1e-9);
  EXPECT_FALSE(growth[1].flagged);
  // A ceiling that falls as fast explains the growth: the caches were left, not the contract.
  for (Row& r : rows)
    if (r.variant == "a.cpu.01_x") r.of_ceiling = Estimate{.value = 0.5, .low = 0.5, .high = 0.5};
  EXPECT_FALSE(growth_of(rows)[0].flagged);
}

}  // namespace
}  // namespace klab
