// What Nsight Compute writes as comma-separated values.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace klab {

/// One launch that was profiled.
struct NcuLaunch {
  std::string kernel, grid;  // empty where the file has no such column
  std::map<std::string, double> metrics;
};

/// The launches in the output of `ncu --csv --metrics ...`, in their order: lines that begin with "==" or stand before the head
/// are passed over. Throws std::invalid_argument naming file and line: no head, a cut line, a value that is no number.
std::vector<NcuLaunch> read_ncu_launches(const std::string& text, const std::string& file);

/// What `klab trace VARIANT... --on-gpu` writes before the launches of the variant with that number, from 1, without the end of the
/// line; and all such lines of a file.
struct AnnouncedVariant {
  int number = 0;
  std::string variant, shape;
  std::string line() const;
};
std::vector<AnnouncedVariant> announced_in(const std::string& text);
/// The launches between that variant's klab_variant_begins and the next.
std::vector<NcuLaunch> launches_between(const std::vector<NcuLaunch>& all, int number);

std::map<std::string, double> sums_of(const std::vector<NcuLaunch>& launches);

/// Sums over all launches.
std::map<std::string, double> read_ncu(const std::string& text, const std::string& file);

}  // namespace klab
