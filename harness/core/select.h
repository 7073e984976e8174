// WHAT: the names of labs, ops and variants on the command line.
//
//   05 | 05_matmul | matmul     a lab by number, id, or the rest of its id
//   matmul_bwd                  an op
//   matmul.cpu.04_cache_tile    a variant
//   matmul.cpu                  the ids that begin so, up to a dot
//   'matmul.*'  '*.cpu.0?_*'    a glob over ids
//   ""                          everything
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/core/lab.h"
#include "harness/core/registry.h"

namespace klab {

/// Thrown for a name that matches nothing. what() says so and lists the nearest names.
class NotFound : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Some variants of one op, in ladder order.
struct Selected {
  const Lab* lab = nullptr;
  const LabOp* op = nullptr;
  std::vector<const Variant*> variants;
};

/// Returns the union of the variants that the names select, in the order of labs, ops and rungs, each variant
/// once; without names, everything. `backend` keeps only that one; "simt" keeps CUDA variants that the host
/// can execute. Throws NotFound for a name or backend that selects no variant.
std::vector<Selected> select(std::span<const std::string> what, const std::string& backend = "");

/// Returns the one lab that a name means (also by an op or a variant of it). Throws NotFound.
const Lab& select_lab(const std::string& what);

/// Returns the labs that a name or glob means, with or without ops; all of them for "". Throws NotFound.
std::vector<const Lab*> select_labs(const std::string& what);

/// Returns the edit distance (insert, delete, replace, swap of neighbors; Damerau 1964, restricted form).
int edit_distance(std::string_view a, std::string_view b);

/// Returns the names nearest to `wrong`, best first: names that contain it, then names a few edits away.
std::vector<std::string> nearest(std::string_view wrong, std::span<const std::string> names,
                                 size_t count = 4);

/// Returns the message "no <kind> is called 'x'; did you mean a, b?".
std::string not_found_text(const std::string& kind, const std::string& wrong,
                           std::span<const std::string> names);

}  // namespace klab
