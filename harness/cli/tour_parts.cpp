#include "harness/cli/tour_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "harness/records/atomic_file.h"

namespace klab {
namespace {

constexpr const char* kRight = "right\n";
constexpr const char* kWrong = "wrong\n";

std::string first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line + "\n";
}

}  // namespace

TourParts::TourParts(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::ifstream in(folder_ / "labs");
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) labs_.push_back(line);
  if (labs_.empty())
    throw std::invalid_argument(
        fmt::format("--parts {}: its file 'labs', which lists the labs of the tour, cannot be read; "
                    "./klab run writes it",
                    folder_.string()));
}

std::filesystem::path TourParts::file(const std::string& lab, const char* extension) const {
  return folder_ / (lab + extension);
}

bool TourParts::is_open(const std::string& lab) const {
  return std::ranges::find(labs_, lab) != labs_.end() && !finished(lab);
}

bool TourParts::finished(const std::string& lab) const { return std::filesystem::exists(file(lab, ".done")); }

void TourParts::keep(const std::string& lab, const std::vector<Row>& rows, bool wrong) const {
  if (rows.empty())
    std::filesystem::remove(file(lab, ".csv"));
  else
    write_run(file(lab, ".csv").string(), {rows, true}, this_machine(), {});
  write_file(file(lab, ".done"), wrong ? kWrong : kRight);
}

Recording TourParts::joined(const std::vector<Row>& more) const {
  Recording all;
  for (const std::string& lab : labs_) {
    all.complete = all.complete && finished(lab);
    if (!finished(lab) || !std::filesystem::exists(file(lab, ".csv"))) continue;
    const Recording part = read_csv(file(lab, ".csv").string());
    all.rows.insert(all.rows.end(), part.rows.begin(), part.rows.end());
  }
  all.rows.insert(all.rows.end(), more.begin(), more.end());
  return all;
}

bool TourParts::wrong() const {
  return std::ranges::any_of(labs_, [&](const std::string& lab) {
    return finished(lab) && first_line(file(lab, ".done")) == kWrong;
  });
}

}  // namespace klab
