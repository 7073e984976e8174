// Faulty listings: kernels that look right, with a claim, and do not do what they say. As an exercise: find the line, name the
// fault, repair it.
//
// labs/NN_name/faults/NN_name.listing holds one: a header (TITLE, CLAIM, REPAIRS, KIND, WHY), then a CUDA kernel as a work file. A
// line that ends with "// FAULT" is at fault; "//+ " begins a line of the repair. Learners see neither. A listing whose results are
// right has a COUNT, of which a repair takes no more than the rung of REPAIRS does: "shared requests".
#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/step/answer.h"

namespace klab {

struct Listing {
  std::string name;   // to type: "14.fault.01"
  std::string lab;    // id
  std::string title;  // "a scan in shared memory, four rays a block"
  std::string claim, kind, why;
  std::string count;              // of counts_of_step(); empty: the check alone decides
  const Variant* rung = nullptr;  // a right rung of the operation, whose check grades the repair
  std::string text;               // the learner's file
  std::string repaired;           // klab's repair of it
  std::set<int> lines;            // of `text`, at fault
  std::string work;               // "14_volume_rendering/fault_01.cu", relative to the work folder
};

/// A kind of fault that an answer may name.
struct ListingKind {
  const char *name, *meaning;
};
std::span<const ListingKind> listing_kinds();

/// Reads a listing. `name` is the one to type. Throws std::runtime_error that names `where` and what is missing.
Listing listing_from(const std::string& source, const std::string& lab, const std::string& name,
                     const std::string& where);

/// Returns those of all labs, in order. Throws std::runtime_error for one that cannot be read.
const std::vector<Listing>& listings();
/// Returns whether a name means a listing rather than a step: "14.fault.01".
bool is_listing(const std::string& name);
/// Throws NotFound with the names there are.
const Listing& find_listing(const std::string& name);

/// Returns the path of the learner's file; start_listing() writes it unless it exists, and returns whether it did.
std::filesystem::path work_path(const Listing& listing);
bool start_listing(const Listing& listing);

/// An answer "LINE:KIND" to a listing.
struct Naming {
  bool line = false, kind = false;  // right
  bool good() const { return line && kind; }
};
/// Throws std::invalid_argument for an answer of another form, a line that the listing lacks, or an unknown kind.
Naming named(const Listing& listing, const std::string& answer);

/// Compiles a file and checks it as a variant of the listing's operation, without timing. Outcome::passed: right and safe, and no
/// more of Listing::count than it takes; Outcome::no_faster: more.
Answer check_listing(const Listing& listing, const std::filesystem::path& file, CheckStepOptions options);

}  // namespace klab
