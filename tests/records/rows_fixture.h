// Recordings made up for tests, and the files that they are written to.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/records/rows.h"
#include "tests/core/temp_folder.h"

namespace klab {

namespace fs = std::filesystem;

class Rows : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  std::string put(const std::string& text) const {
    std::ofstream(file("r.csv"), std::ios::binary) << text;
    return file("r.csv");
  }

  /// The error that reading that text gives; empty when it is accepted.
  std::string error_of(const std::string& text) const {
    try {
      read_csv(put(text));
      return "";
    } catch (const RowsError& e) {
      EXPECT_EQ(std::string(e.what()).find(file("r.csv")), 0U) << e.what();
      return e.what();
    }
  }

  const TempFolder own_;
  const fs::path folder_ = own_.path();
};

inline Row timed_row(const std::string& variant, double scale) {
  Row r{.fingerprint = "0123456789abcdef",
        .commit = "abc",
        .lab = "05_matmul",
        .op = "matmul",
        .variant = variant,
        .backend = "cpu",
        .instruction_set = "AVX3",
        .size = "1024 cubed, \"the\" one",
        .shape = "m=1024 n=1024 k=1024",
        .cache = "cold: 5 copies of 28 MB, fewer than would empty the cache",
        .threads = 2,
        .iterations = 3,
        .bytes = 12582912,
        .flops = 2147483648};
  for (int i = 0; i < 7; ++i) r.seconds.push_back(scale * (1 + 0.1 * ((i * 5) % 7)) / 3);
  r.time = median_interval(r.seconds);
  return r;
}

inline Recording sample_run() {
  Recording run;
  run.rows.push_back(timed_row("matmul.cpu.01_naive", 1));
  Row r = timed_row("matmul.cpu.02_order", 0.1);
  r.over_naive = ratio_interval(run.rows[0].seconds, r.seconds);
  r.over_parent = r.over_naive;
  r.over_peer = ratio_interval(std::vector<double>{1, 2, 3, 4, 5, 6, 7}, r.seconds);
  r.peer = "matmul.cpu.90_onednn";
  r.ceiling = "fma f32";
  r.ceiling_per_second = 2.3e11 / 3;
  r.of_ceiling = median_interval(std::vector<double>{0.1, 0.2, 0.3, 0.15, 0.12, 1.0 / 3, 0.11});
  r.error = "above its ceiling: measurement error";
  r.expected = 4;
  r.verdict = "held";
  run.rows.push_back(r);
  Row skipped = timed_row("matmul.cpu.03_other", 1);
  skipped.seconds.clear();
  skipped.time = {};
  skipped.iterations = 0;
  skipped.skipped = "needs a multiple of 16, not 1024";
  skipped.counts = {{"bank_conflicts", 31}, {"launches", 1}};
  skipped.needs = {{"registers", 40}, {"occupancy_percent_h100", 75}};
  run.rows.push_back(skipped);
  skipped.counts.clear();
  skipped.needs.clear();
  skipped.variant = "matmul.cpu.04_wrong";
  skipped.skipped.clear();
  skipped.wrong = "wrong value in c[3,17], expected 1, got 2";
  run.rows.push_back(skipped);
  return run;
}

/// Lines of a text, and cells of a line without quotes.
inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  if (!text.empty() && text.back() == separator && separator == ',') parts.emplace_back();
  return parts;
}
inline std::string join(const std::vector<std::string>& parts, char separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) text += separator;
    text += parts[i];
  }
  return text;
}

/// Two rows whose cells hold no commas, so that tests can cut them.
inline std::vector<std::vector<std::string>> plain_cells() {
  Recording run;
  for (const char* id : {"matmul.cpu.01_naive", "matmul.cpu.02_order"}) {
    Row r = timed_row(id, 1);
    r.size = "1024 cubed";
    r.cache = "hot";
    run.rows.push_back(r);
  }
  std::vector<std::vector<std::string>> cells;
  for (const std::string& line : split(to_csv(run), '\n')) cells.push_back(split(line, ','));
  return cells;
}
inline std::string text_of(const std::vector<std::vector<std::string>>& cells) {
  std::string text;
  for (const auto& line : cells) {
    text += join(line, ',');
    text += '\n';
  }
  return text;
}
inline size_t column(const std::vector<std::vector<std::string>>& cells, const std::string& name) {
  for (size_t i = 0; i < cells[0].size(); ++i)
    if (cells[0][i] == name) return i;
  ADD_FAILURE() << "no column " << name;
  return 0;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace klab
