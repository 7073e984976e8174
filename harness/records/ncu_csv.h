// Reads Nsight Compute's comma-separated values.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace klab {

/// One profiled launch.
struct NcuLaunch {
  std::string kernel, grid;  // empty if the file has no such column
  std::map<std::string, double> metrics;
};

/// Returns the launches in the output of `ncu --csv --metrics ...`, in order. Skips lines that begin with
/// "==" or precede the header. Throws std::invalid_argument that names file and line: no header, a truncated
/// line, a value that is not a number.
std::vector<NcuLaunch> read_ncu_launches(const std::string& text, const std::string& file);

/// The line that `klab trace VARIANT... --on-gpu` prints before the launches of the variant with that number,
/// counted from 1, without the line end. announced_in() returns all such lines of a file.
struct AnnouncedVariant {
  int number = 0;
  std::string variant, shape;
  std::string line() const;
};
std::vector<AnnouncedVariant> announced_in(const std::string& text);
/// Returns the launches between that variant's klab_variant_begins and the next one.
std::vector<NcuLaunch> launches_between(const std::vector<NcuLaunch>& all, int number);

std::map<std::string, double> sums_of(const std::vector<NcuLaunch>& launches);

/// Returns the sums over all launches.
std::map<std::string, double> read_ncu(const std::string& text, const std::string& file);

}  // namespace klab
