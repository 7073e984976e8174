// Records of an earlier version of klab, reported by this one.
// ctest: sanitized
#include "harness/report/report.h"
#include "tests/records/rows_fixture.h"

namespace klab {
namespace {

// Records from the time when each op named one ceiling by hand lack a column and some ceilings.
TEST_F(Rows, OldFilesLoadAndAreReported) {
  Recording run;
  Row r = timed_row("frequency_fwd.cpu.02_simd", 1e-4);
  r.lab = "11_direction_encoding";
  r.op = "frequency_fwd";
  r.size = "10 octaves in L2";
  r.cache = "hot";
  r.ceiling = "copy L2";
  r.ceiling_per_second = 3.7e11;
  for (const double s : r.seconds) r.shares.push_back(0.04 / s * r.time.value);
  r.of_ceiling = median_interval(r.shares);
  run.rows.push_back(r);
  std::vector<std::vector<std::string>> cells;
  for (const std::string& line : split(to_csv(run), '\n')) cells.push_back(split(line, ','));
  const auto at = std::ptrdiff_t(column(cells, "resources"));
  auto cut = cells;
  for (auto& line : cut) line.erase(line.begin() + at);
  ReportInput in;
  in.run = read_csv(put(text_of(cut)));
  EXPECT_TRUE(in.run.rows == run.rows);
  in.ceilings = nlohmann::json::parse(
      R"({"measured": [{"name": "fma f32", "threads": 2, "unit": "FLOP/s", "per_second": 5e11},
                       {"name": "copy L2", "threads": 2, "unit": "B/s", "per_second": 3.7e11}]})");
  EXPECT_HAS(report_markdown(in), "4 % of copy L2 |");
  EXPECT_HAS(report_html(in), "4 % of copy L2");
  cut[1].pop_back();
  EXPECT_HAS(error_of(text_of(cut)), ":2: column 'seconds' is missing: the line ends after 52 of 53 cells");
  // Where all resources are known, a rung so far below its ceiling is bound by none of them.
  in.run.rows[0].resources = {{"copy L2", 4e-6}, {"transcendental f32", 3e-6}};
  const std::string text = report_markdown(in);
  EXPECT_HAS(text, "No throughput limit binds: latency (the fastest rung has 4 % of copy L2).");
  EXPECT_EQ(text.find("4 % of copy L2 |"), std::string::npos) << text;
  EXPECT_HAS(report_html(in), "No throughput limit binds: latency");
}

}  // namespace
}  // namespace klab
