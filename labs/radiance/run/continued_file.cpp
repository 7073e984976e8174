#include "labs/radiance/run/continued_file.h"

#include <sstream>
#include <stdexcept>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {
namespace {

constexpr int64_t kMostBytesContinued = 200'000'000;

/// Returns the step at the beginning of a line, or -1.
int64_t step_of_line(const std::string& line) {
  try {
    return number_from<int64_t>(line.substr(0, line.find(',')), {0, range::steps.high});
  } catch (const std::invalid_argument&) {
    return -1;
  }
}

std::string kept_lines(const std::filesystem::path& file, const std::string& wanted, int64_t done) {
  std::istringstream in(read_input(file, kMostBytesContinued));
  std::string head, text;
  if (!std::getline(in, head) || head != wanted) return "";
  for (std::string line; std::getline(in, line) && !in.eof();)
    if (const int64_t step = step_of_line(line); step >= 0 && step <= done) text += line + "\n";
  return text;
}

}  // namespace

void begin_continued(const std::filesystem::path& file, const std::string& head, int64_t done) {
  std::error_code error;
  const bool goes_on = done > 0 && std::filesystem::exists(file, error);
  write_file(file, head + "\n" + (goes_on ? kept_lines(file, head, done) : ""));
}

}  // namespace klab
