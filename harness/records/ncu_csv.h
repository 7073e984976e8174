// What Nsight Compute writes as comma-separated values.
#pragma once

#include <map>
#include <string>

namespace klab {

/// Sums over all launches in the output of `ncu --csv --metrics ...`: lines that begin with "==" or stand before the head
/// are passed over. Throws std::invalid_argument naming file and line: no head, a cut line, a value that is no number.
std::map<std::string, double> read_ncu(const std::string& text, const std::string& file);

}  // namespace klab
