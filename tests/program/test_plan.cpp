// Plans: refusals before anything runs, the choice of the best rung, and checks of calls.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/check/check.h"
#include "harness/records/rows.h"
#include "harness/timing/machine.h"
#include "labs/radiance/field/plan_ops.h"
#include "reference/composite_bwd/composite_bwd.h"
#include "reference/mlp_fwd/mlp_fwd.h"
#include "reference/sh_fwd/sh_fwd.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

// Variants that only this program has.
void nothing(const ShFwd::Args<float>&) {}
std::string never(const ShFwd::Shape& s, const Host&) { return s.n > 100 ? "it takes 100 at most" : ""; }
const Registrar<ShFwd> few("kernels/sh_fwd/cpu/77_few.cpp", 1, {.run = nothing, .supported = never});

const Registrar<ShFwd> pairs("kernels/sh_fwd/cpu/76_amx_pairs.cpp", 1,
                             {.run = nothing, .numerics = {.unit = Unit::bf16}});

const uint16_t* seen = nullptr;
void look(const HashgridFwd::Args<float>& x) { seen = x.table_half; }
const Registrar<HashgridFwd> blind("kernels/hashgrid_fwd/cpu/77_blind.cpp", 1, {.run = look, .peer = true});
const Registrar<HashgridFwd> reader("kernels/hashgrid_fwd/cpu/78_reader.cpp", 1,
                                    {.run = look, .needs = {"table_half"}, .peer = true});

class Folder : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
  const TempFolder own;
  const fs::path path = own.path();
};

// Returns Plan::require's error for a plan file, or "accepted".
std::string verdict(const std::string& file, std::span<const PlannedCall> calls) {
  try {
    Plan::require(plan_ids(file, calls), file, calls);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "accepted";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(Folder, PlansAreRefusedWithReasonAndRemedy) {
  const auto calls = small_calls();
  const auto message = [&](const std::string& text) { return verdict(write("plan.json", text), calls); };
  EXPECT_TRUE(has(message("{"), "not valid JSON"));
  EXPECT_TRUE(has(message("[1]"), "is JSON, but no object: write an object"));
  EXPECT_TRUE(has(message(R"({"adam": 3})"), "no variant id"));
  EXPECT_TRUE(has(verdict("no/such/plan.json", calls),
                  "no such file: name a file, or one of \"best\", \"last\" and \"naive\""));
  EXPECT_EQ(message(R"({"adam": "adam.cpu.01_naive"})"), "accepted");
  EXPECT_EQ(message("{}"), "accepted");

  const std::string op = message(R"({"hashgrid_fw": "x"})");
  EXPECT_TRUE(has(op, "did you mean hashgrid_fwd")) << op;
  EXPECT_TRUE(has(message(R"({"adam": "sh_fwd.cpu.01_naive"})"), "is no variant of adam"));
  const std::string typo = message(R"({"hashgrid_fwd": "hashgrid_fwd.cpu.01_niave"})");
  EXPECT_TRUE(has(typo, "did you mean hashgrid_fwd.cpu.01_naive")) << typo;
  EXPECT_TRUE(has(message(R"({"adam": "cpu.99_magic"})"), "(see `klab list adam`)"));

  const std::string unsupported = message(R"({"sh_fwd": "sh_fwd.cpu.77_few"})");
  EXPECT_TRUE(has(unsupported, "it takes 100 at most")) << unsupported;
  EXPECT_TRUE(has(unsupported, "n=4096")) << unsupported;
  EXPECT_TRUE(has(unsupported, "leave the op out")) << unsupported;
  const std::vector<PlannedCall> smaller = {planned<ShFwd>({.n = 100, .degree = 2}, "100 samples")};
  EXPECT_EQ(verdict(write("plan.json", R"({"sh_fwd": "sh_fwd.cpu.77_few"})"), smaller), "accepted");

  const std::string tensor = message(R"({"hashgrid_fwd": "hashgrid_fwd.cpu.04_half_table"})");
  EXPECT_TRUE(has(tensor, "reads the tensor table_half, which this program does not have")) << tensor;
  auto with_half = calls;
  for (PlannedCall& c : with_half) c.given = {"table_half"};
  EXPECT_EQ(verdict(write("plan.json", R"({"hashgrid_fwd": "hashgrid_fwd.cpu.04_half_table"})"), with_half),
            "accepted");

  // Every CUDA rung of every op, by name.
  int refused = 0;
  for (const Variant& v : variants()) {
    if (v.backend != "cuda" || std::ranges::find(plan_ops(), v.op) == plan_ops().end()) continue;
    const std::string backend = message("{\"" + v.op + "\": \"" + v.id + "\"}");
    EXPECT_TRUE(has(backend, v.id + " is written for CUDA")) << backend;
    ++refused;
  }
  EXPECT_GT(refused, 10);

  // Several at once are all named.
  const std::string both =
      message(R"({"adam": "adam.cpu.1", "hashgrid_fwd": "hashgrid_fwd.cpu.04_half_table"})");
  EXPECT_TRUE(has(both, "adam.cpu.1") && has(both, "table_half")) << both;
}

TEST(Plan, BestTakesNoRefusedVariant) {
  const auto calls = small_calls();
  CallTimes times({}, [](const auto&, const auto&, auto variants) {
    std::vector<double> seconds;
    for (const Variant* v : variants) {
      EXPECT_NE(v->id, "sh_fwd.cpu.77_few");
      EXPECT_TRUE(v->backend == "cpu" && v->needs.empty() && !v->peer && v->numerics.unit == Unit::f32)
          << v->id;
      seconds.push_back(double(seconds.size() + 1));
    }
    return seconds;
  });
  Plan::named("best", calls, times);
}

// In bfloat16 its rungs are among those that are timed, where the processor can run them; in float never.
TEST(Plan, BestTakesFewerBitsOnlyOnRequest) {
  const std::vector<PlannedCall> calls = {planned<MlpFwd>({4096, 32, 64, 2, 3, 1}, "4096 samples"),
                                          planned<ShFwd>({.n = 4096, .degree = 3}, "4096 samples")};
  const Variant& rung = *find_variant("mlp_fwd.cpu.08_bfloat16");
  const bool can = rung.supported(calls[0].shape, host_of(rung)).empty();
  for (const Unit precision : {Unit::f32, Unit::bf16}) {
    bool timed = false;
    CallTimes times({}, [&](const auto&, const auto&, auto variants) {
      std::vector<double> seconds;
      for (const Variant* v : variants) {
        timed = timed || v == &rung;
        seconds.push_back(v == &rung ? 1 : 2);
      }
      return seconds;
    });
    const Plan plan = Plan::named("best", calls, times, "cpu", precision);
    const bool expected = can && precision == Unit::bf16;
    EXPECT_EQ(timed, expected);
    EXPECT_EQ(plan.variant("mlp_fwd") == &rung, expected);
    // Twice the operations an instruction: the ceiling it is compared with.
    EXPECT_EQ(plan.cost_of("mlp_fwd", {.flops = 8}).flops_per_lane, expected ? 2 : 1);
    EXPECT_EQ(plan.cost_of("sh_fwd", {.flops = 8}).flops_per_lane, 1);
  }
  EXPECT_EQ(Plan::unavailable(calls, Unit::f32), "");
  const std::string why = Plan::unavailable(calls, Unit::bf16);
  EXPECT_EQ(why.empty(), can) << why;
  if (!can) EXPECT_TRUE(has(why, "AVX-512 BF16")) << why;
}

// Rungs of both formats are timed at the program's shape, and the plan names the better one of those that lost.
TEST(Plan, TakesTheFasterOfTwoFormatsAndSaysHowLongTheOtherTakes) {
  const std::vector<PlannedCall> calls = {planned<ShFwd>({.n = 5000, .degree = 3}, "5000 samples")};
  const auto choose = [&](double narrow, Unit precision) {
    CallTimes times({}, [&](const auto&, const auto& shape, auto variants) {
      EXPECT_EQ(shape[0], 5000);
      std::vector<double> seconds;
      for (const Variant* v : variants)
        seconds.push_back(v->numerics.unit == Unit::bf16 ? narrow : v->rung == "01_naive" ? 2 : 4);
      return seconds;
    });
    return Plan::named("best", calls, times, "cpu", precision);
  };
  const Plan floats = choose(3.08, Unit::bf16);
  EXPECT_EQ(floats.variant("sh_fwd")->id, "sh_fwd.cpu.01_naive");
  EXPECT_TRUE(has(floats.text(), "(measured now); cpu.76_amx_pairs in bf16 takes 1.54 times as long"))
      << floats.text();
  const Plan narrow = choose(0.5, Unit::bf16);
  EXPECT_EQ(narrow.variant("sh_fwd")->id, "sh_fwd.cpu.76_amx_pairs");
  EXPECT_TRUE(has(narrow.text(), "(measured now); cpu.01_naive in f32 takes 4.00 times as long"))
      << narrow.text();
  // Tiles do eight times the operations of vectors with the same factors.
  EXPECT_EQ(floats.cost_of("sh_fwd", {.flops = 8}).flops_per_lane, 1);
  EXPECT_EQ(narrow.cost_of("sh_fwd", {.flops = 8}).flops_per_lane, 16);
  EXPECT_TRUE(has(choose(INFINITY, Unit::bf16).text(), "cpu.76_amx_pairs in bf16 takes many times as long"));
  const Plan alone = choose(0.5, Unit::f32);
  EXPECT_EQ(alone.variant("sh_fwd")->id, "sh_fwd.cpu.01_naive");
  EXPECT_FALSE(has(alone.text(), "as long")) << alone.text();
}

std::vector<CallTime> times_of(const std::vector<PlannedCall>& calls, const std::string& fastest) {
  std::vector<CallTime> list;
  for (const PlannedCall& c : calls)
    for (const Variant* v : variants_of(c.op, "cpu"))
      list.push_back({v->id, c.shape, omp_get_max_threads(), v->id == fastest ? 0.5 : 1.0});
  return list;
}

TEST(Plan, BestFollowsTheRowsNotTheNumber) {
  const std::vector<PlannedCall> calls = {planned<ShFwd>({.n = 5000, .degree = 3}, "5000 samples")};
  const CallTimes::Measure none = [](const auto& op, const auto&, auto) -> CallTimes::Measured {
    throw std::logic_error("measured " + op);
  };
  size_t candidates = 0;
  for (const Variant* v : variants_of("sh_fwd", "cpu")) {
    if (v->peer || v->id == "sh_fwd.cpu.77_few" || v->numerics.unit != Unit::f32) continue;
    ++candidates;
    CallTimes times(times_of(calls, v->id), none);
    EXPECT_EQ(Plan::named("best", calls, times).variant("sh_fwd"), v);
  }
  ASSERT_GT(candidates, 2U);
  const std::string first = "sh_fwd.cpu.01_naive";
  CallTimes times(times_of(calls, first), none);
  const Plan plan = Plan::named("best", calls, times);
  EXPECT_EQ(plan.at("sh_fwd").why,
            "fastest of " + std::to_string(candidates) + " at 5000 samples (recorded)");
  EXPECT_EQ(plan.at("sh_fwd").seconds, 0.5);
  EXPECT_TRUE(has(plan.text(), "sh_fwd  cpu.01_naive  fastest of")) << plan.text();

  // Rows of another shape or another number of threads do not count, nor do rows that lack a rung.
  for (const int what : {0, 1, 2}) {
    auto rows = times_of(calls, first);
    if (what == 0)
      for (CallTime& t : rows) t.shape[0] = 5001;
    if (what == 1)
      for (CallTime& t : rows) ++t.threads;
    if (what == 2) std::erase_if(rows, [](const CallTime& t) { return t.variant == "sh_fwd.cpu.01_naive"; });
    int measured = 0;
    CallTimes other(rows, [&](const std::string&, const auto& shape, auto variants) {
      EXPECT_EQ(shape, (std::vector<int64_t>{5000, 3}));
      ++measured;
      std::vector<double> seconds(variants.size(), 2);
      seconds[1] = 1;
      return seconds;
    });
    const Plan anew = Plan::named("best", calls, other);
    EXPECT_EQ(measured, 1);
    EXPECT_EQ(anew.variant("sh_fwd"), variants_of("sh_fwd", "cpu")[1]);
    EXPECT_TRUE(has(anew.at("sh_fwd").why, "(measured now)")) << anew.at("sh_fwd").why;
  }
}

TEST(Plan, TheLastRungsAreTakenAndNothingIsTimed) {
  CallTimes times({}, [](const auto& op, const auto&, auto) -> CallTimes::Measured {
    throw std::logic_error(op + " is timed");
  });
  const auto calls = small_calls();
  const Plan plan = Plan::named("last", calls, times);
  for (const PlannedCall& call : calls) EXPECT_TRUE(plan.contains(call.op)) << call.op;
  for (const auto& [op, choice] : plan.choices()) {
    EXPECT_EQ(choice.variant->numerics.unit, Unit::f32) << op;
    EXPECT_TRUE(choice.variant->trunk()) << choice.variant->id;
  }
  const Plan naive = Plan::named("naive", calls, times);
  const auto rungs = variants_of("sh_fwd", "cpu");
  const auto is_last = [](const Variant* v) {
    return !v->peer && v->trunk() && v->numerics.unit == Unit::f32 && v->numerics.deterministic &&
           v->rung != "77_few";
  };
  EXPECT_EQ(plan.variant("sh_fwd"), *std::ranges::find_if(rungs.rbegin(), rungs.rend(), is_last));
  EXPECT_NE(plan.variant("sh_fwd"), naive.variant("sh_fwd"));
}

TEST(Plan, BestCountsEachCallAsOftenAsItIsMade) {
  std::vector<PlannedCall> calls = {planned<ShFwd>({.n = 10, .degree = 3}, "10 samples", 1),
                                    planned<ShFwd>({.n = 20, .degree = 3}, "20 samples", 3),
                                    planned<ShFwd>({.n = 30, .degree = 3}, "30 samples", 0)};
  // At 10 the first rung takes 1 against 3, at 20 it takes 2 against 1.5; 30 is never measured.
  const auto measure = [](const auto&, const std::vector<int64_t>& shape, auto variants) {
    EXPECT_NE(shape[0], 30);
    std::vector<double> seconds(variants.size(), 100);
    seconds[0] = shape[0] == 10 ? 1 : 2;
    seconds[1] = shape[0] == 10 ? 3 : 1.5;
    return seconds;
  };
  CallTimes times({}, measure);
  EXPECT_EQ(Plan::named("best", calls, times).variant("sh_fwd"), variants_of("sh_fwd", "cpu")[0]);
  calls[1].times = 5;
  EXPECT_EQ(Plan::named("best", calls, times).variant("sh_fwd"), variants_of("sh_fwd", "cpu")[1]);
}

TEST_F(Folder, KeepsMeasurementsForThisBuild) {
  const std::vector<PlannedCall> calls = {planned<ShFwd>({.n = 5000, .degree = 3}, "5000 samples")};
  int measured = 0, notes = 0;
  double others = 0;
  const auto choose = [&](const fs::path& recorded = {}) {
    CallTimes::Sources sources;
    sources.recorded = recorded;
    sources.cache = path / "below" / "times.json";
    sources.measure = [&](const auto&, const auto&, auto variants) {
      ++measured;
      std::vector<double> seconds(variants.size(), INFINITY);  // far slower
      seconds[1] = 1e-3;
      return CallTimes::Measured(seconds, others);
    };
    sources.note = [&](const std::string&) { ++notes; };
    CallTimes times(std::move(sources));
    return Plan::named("best", calls, times);
  };
  others = 1.5;  // while other programs run: reported, not kept
  EXPECT_TRUE(has(choose().text(), "(measured now)"));
  EXPECT_EQ(notes, 1);
  EXPECT_FALSE(fs::exists(path / "below" / "times.json"));
  measured = notes = 0;
  others = 0;
  EXPECT_TRUE(has(choose().text(), "(measured now)"));
  const Plan again = choose();
  EXPECT_TRUE(has(again.text(), "(measured before)")) << again.text();
  EXPECT_EQ(again.variant("sh_fwd"), variants_of("sh_fwd", "cpu")[1]);
  EXPECT_EQ(measured, 1);

  const fs::path cache = path / "below" / "times.json";
  std::stringstream text;
  text << std::ifstream(cache).rdbuf();
  auto document = nlohmann::json::parse(text.str());
  document["build"] = "another";
  std::ofstream(cache) << document.dump();
  choose();
  EXPECT_EQ(measured, 2) << "times of another build were believed";
  EXPECT_EQ(notes, 0);
  std::ofstream(cache) << text.str().substr(0, text.str().size() / 2);
  choose();
  EXPECT_EQ(measured, 3);
  EXPECT_EQ(notes, 1) << "a damaged file was not told";

  // Rows as the benchmark records them come first, if they are of this machine.
  Recording recording;
  for (const Variant* v : variants_of("sh_fwd", "cpu")) {
    Row row;
    row.fingerprint = fingerprint(this_machine());
    row.lab = "11_direction_encoding";
    row.op = v->op;
    row.variant = v->id;
    row.backend = "cpu";
    row.size = "small";
    row.shape = "n=5000 degree=3";
    row.cache = "hot";
    row.threads = omp_get_max_threads();
    row.iterations = 1;
    const double seconds = v->id == "sh_fwd.cpu.01_naive" ? 1e-6 : 1e-3;
    row.seconds = {seconds, seconds};
    row.time = {seconds, seconds, seconds};
    recording.rows.push_back(row);
  }
  const std::string mine = write("mine.csv", to_csv(recording));
  const Plan recorded = choose(mine);
  EXPECT_TRUE(has(recorded.text(), "(recorded)")) << recorded.text();
  EXPECT_EQ(recorded.variant("sh_fwd")->id, "sh_fwd.cpu.01_naive");
  for (Row& row : recording.rows) row.fingerprint = "0123456789abcdef";
  EXPECT_FALSE(has(choose(write("theirs.csv", to_csv(recording))).text(), "(recorded)"));
  EXPECT_EQ(notes, 1);
  choose(write("broken.csv", "row,rows\n1"));
  EXPECT_EQ(notes, 2);
}

TEST(Call, WrongCallsAreRefused) {
  const std::vector<PlannedCall> calls = {planned<ShFwd>({.n = 3, .degree = 2}, "3 samples"),
                                          planned<CompositeBwd>({.rays = 1, .samples = 1}, "1 sample")};
  CallTimes times;
  const Plan plan = Plan::named("naive", calls, times);
  std::vector<float> in(9, 1.0F), out(12);
  const auto message = [&](const ShFwd::Args<float>& args) {
    try {
      plan.run<ShFwd>(args);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("ran");
  };
  EXPECT_EQ(message({.shape = {.n = 3, .degree = 2}, .directions = in.data(), .basis = out.data()}), "ran");
  EXPECT_EQ(out[0], out[1]);  // the constant one
  EXPECT_NE(out[0], 0);
  const std::string shape =
      message({.shape = {.n = 3, .degree = 9}, .directions = in.data(), .basis = out.data()});
  EXPECT_TRUE(has(shape, "sh_fwd: n = 3, degree = 9: is no shape of this operation")) << shape;
  EXPECT_TRUE(has(message({.shape = {.n = -3, .degree = 2}, .directions = in.data(), .basis = out.data()}),
                  "n = -3"));
  const std::string missing =
      message({.shape = {.n = 3, .degree = 2}, .directions = in.data(), .basis = nullptr});
  EXPECT_TRUE(has(missing, "the tensor basis of 12 elements was not given")) << missing;
  EXPECT_EQ(message({.shape = {.n = 0, .degree = 2}, .directions = nullptr, .basis = nullptr}), "ran");
  EXPECT_THROW(plan.run<HashgridFwd>({}), std::logic_error) << "it was not planned";
}

TEST(Call, OptionalTensorsAreForVariantsThatNeedThem) {
  const HashgridShape shape = hash_shape(small_config(), 1, 2);
  std::vector<float> positions(6, 0.5F),
      table(size_t(hashgrid_entries(hashgrid_levels(shape)) * shape.features)),
      features(size_t(shape.levels * shape.features * 2));
  std::vector<uint16_t> half(table.size());
  HashgridFwd::Args<float> args{.shape = shape,
                                .positions = positions.data(),
                                .table = table.data(),
                                .table_half = nullptr,
                                .features = features.data()};
  EXPECT_NO_THROW(call<HashgridFwd>(*find_variant("hashgrid_fwd.cpu.77_blind"), args));
  EXPECT_THROW(call<HashgridFwd>(*find_variant("hashgrid_fwd.cpu.78_reader"), args), std::invalid_argument);
  EXPECT_THROW(call<HashgridFwd>(*find_variant("hashgrid_fwd.cpu.04_half_table"), args),
               std::invalid_argument);
  args.table_half = half.data();
  EXPECT_NO_THROW(call<HashgridFwd>(*find_variant("hashgrid_fwd.cpu.78_reader"), args));
  EXPECT_THROW(call<HashgridFwd>(*find_variant("sh_fwd.cpu.01_naive"), args), std::logic_error);
  EXPECT_THROW(call<HashgridFwd>(*find_variant("hashgrid_fwd.cuda.01_thread_per_point"), args),
               std::logic_error);
}

// A variant that reads an optional tensor without declaring it reads a null pointer under `klab check`.
TEST(Call, TheCheckGivesOptionalTensorsOnlyToVariantsThatNeedThem) {
  const LabOp& op = *find_op("hashgrid_fwd");
  const auto look_at = [&](const char* id) {
    const std::vector<const Variant*> one = {find_variant(id)};
    seen = nullptr;
    check(op, one,
          {.max_failures = 1, .shape = {65, 3, 2, 2, 7, 2, 16, 0}, .quick = true, .gradients = false});
    return seen;
  };
  EXPECT_EQ(look_at("hashgrid_fwd.cpu.77_blind"), nullptr);
  EXPECT_NE(look_at("hashgrid_fwd.cpu.78_reader"), nullptr);
}

TEST(Call, OptionalTensorsAreInputsOfTheContract) {
  int optional = 0;
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops) {
      if (op.bench.empty()) continue;
      for (const TensorSpec& spec : op.op.tensors(op.bench.front().shape)) {
        if (!spec.optional) continue;
        EXPECT_EQ(spec.role, Role::input) << op.op.name << ": " << spec.name;
        ++optional;
      }
    }
  EXPECT_GT(optional, 0);
}

using PlanDeathTest = ::testing::Test;
TEST(PlanDeathTest, AVariantCannotNeedWhatItsContractDoesNotCallOptional) {
  EXPECT_EXIT(Registrar<HashgridFwd>("kernels/hashgrid_fwd/cpu/79_wrong.cpp", 7,
                                     {.run = look, .needs = {"tabel_half"}}),
              ::testing::ExitedWithCode(2), "79_wrong.cpp:7 needs 'tabel_half', which is no optional tensor");
  EXPECT_EXIT(
      Registrar<ShFwd>("kernels/sh_fwd/cpu/79_wrong.cpp", 7, {.run = nothing, .needs = {"directions"}}),
      ::testing::ExitedWithCode(2), "no optional tensor of sh_fwd");
}

}  // namespace
}  // namespace klab
