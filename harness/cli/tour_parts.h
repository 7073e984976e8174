// The tour in parts: the rows of each finished lab lie in a folder, so that an interrupted tour can be continued, and
// several programs that hold one lab each can run it together.
//
//   labs          ids of the tour's labs in their order, one per line; the launcher writes it
//   <id>.csv      rows of a finished lab; missing if it has none
//   <id>.done     "right" or "wrong"; written last
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/records/rows.h"

namespace klab {

class TourParts {
 public:
  /// Reads the list of labs. Throws std::invalid_argument if the folder has none.
  explicit TourParts(std::filesystem::path folder);

  /// Returns whether that lab is one of the tour's and not finished.
  bool is_open(const std::string& lab) const;

  /// Stores a finished lab.
  void keep(const std::string& lab, const std::vector<Row>& rows, bool wrong) const;

  /// Returns the rows of all finished labs, followed by `more`, those of a lab that was interrupted. The recording is
  /// complete if every lab is finished.
  Recording joined(const std::vector<Row>& more) const;

  /// Returns whether a check failed in a finished lab.
  bool wrong() const;

 private:
  bool finished(const std::string& lab) const;
  std::filesystem::path file(const std::string& lab, const char* extension) const;

  std::filesystem::path folder_;
  std::vector<std::string> labs_;
};

}  // namespace klab
