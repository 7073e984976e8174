// Hints from the counts of a kernel: which line moves more than it must, and which rung avoids that.
#pragma once

#include <string>
#include <vector>

#include "harness/records/counts.h"

namespace klab {

enum class Waste { load_sectors, store_sectors, conflicts, collisions, lanes };

struct Hint {
  Waste waste = Waste::load_sectors;
  std::string file;
  int line = 0;
  int64_t excess = 0;  // sectors, wavefronts or lanes that could be saved
  std::string text;    // "32.0 sectors/request where 4.0 would do; neighboring lanes are 1024 bytes apart"
  std::string rung;    // id of the first later rung without this waste; empty: none
};

/// Returns hints, worst first. Counts later rungs at the same shape to find one that avoids the waste.
std::vector<Hint> hints_of(const LabOp& op, const CountedRun& run);

}  // namespace klab
