#include "harness/records/gpu_record.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "harness/records/input.h"
#include "harness/records/ncu_csv.h"

namespace klab {
namespace {

constexpr const char* kHead = "variant,shape,";

[[noreturn]] void refuse(const std::string& file, int line, const std::string& what) {
  throw std::invalid_argument(fmt::format("{}:{}: {}", file, line, what));
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  size_t begin = 0;
  for (size_t at = 0; at <= line.size(); ++at) {
    if (at < line.size() && line[at] != ',') continue;
    cells.push_back(line.substr(begin, at - begin));
    begin = at + 1;
  }
  return cells;
}

double count_in(const std::string& cell, const std::string& file, int line) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !(value >= 0) || !std::isfinite(value))
    refuse(file, line, fmt::format("'{}' is no count", excerpt(cell)));
  return value;
}

GpuRecord read_table(const std::string& text, const std::string& file) {
  GpuRecord record;
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> head = cells_of(line);
  for (int number = 2; std::getline(in, line); ++number) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != head.size())
      refuse(file, number, fmt::format("{} cells under {} columns: cut?", cells.size(), head.size()));
    GpuCall call{.shape = cells[1], .counts = {}};
    for (size_t c = 2; c < cells.size(); ++c)
      if (!cells[c].empty()) call.counts[head[c]] = count_in(cells[c], file, number);
    if (!record.emplace(cells[0], std::move(call)).second)
      refuse(file, number, cells[0] + " stands there twice");
  }
  return record;
}

}  // namespace

GpuRecord read_gpu_record(const std::string& text, const std::string& file) {
  if (text.starts_with(kHead)) return read_table(text, file);
  GpuRecord record;
  const std::vector<NcuLaunch> all = read_ncu_launches(text, file);
  for (const AnnouncedVariant& a : announced_in(text)) {
    const std::vector<NcuLaunch> own = launches_between(all, a.number);
    if (own.empty())
      throw std::invalid_argument(fmt::format("{} has no launch of {}: cut?", file, a.variant));
    record[a.variant] = {.shape = a.shape, .counts = sums_of(own)};
  }
  if (record.empty())
    throw std::invalid_argument(
        file + " names no variant: record it of klab trace VARIANT... --on-gpu, with several variants");
  return record;
}

std::string gpu_record_text(const GpuRecord& record) {
  std::set<std::string> columns;
  for (const auto& [variant, call] : record)
    for (const auto& [counter, count] : call.counts) columns.insert(counter);
  std::string text = "variant,shape";
  for (const std::string& c : columns) text += "," + c;
  text += "\n";
  for (const auto& [variant, call] : record) {
    text += variant + "," + call.shape;
    for (const std::string& c : columns) {
      const auto at = call.counts.find(c);
      text += at == call.counts.end() ? "," : fmt::format(",{}", at->second);
    }
    text += "\n";
  }
  return text;
}

}  // namespace klab
