// Writes a run to a file; the name determines the format.
#include <nlohmann/json.hpp>

#include "harness/records/atomic_file.h"
#include "harness/records/rows.h"

namespace klab {
namespace {

void require_format(const std::string& path) {
  if (!path.ends_with(".csv") && !path.ends_with(".json"))
    throw RowsError(path + ": the name must end in .csv or .json, which says the format");
}

}  // namespace

void require_writable(const std::string& path) {
  require_format(path);
  try {
    require_writable_file(path);
  } catch (const FileError& error) {
    throw RowsError(error.what());
  }
}

void write_run(const std::string& path, const Recording& run, const Machine& machine,
               const Ceilings& ceilings) {
  require_format(path);
  try {
    write_file(path, path.ends_with(".csv") ? to_csv(run) : to_json(run, machine, ceilings).dump(1) + "\n");
  } catch (const FileError& error) {
    throw RowsError(error.what());
  }
}

}  // namespace klab
