// The ladders of a lab as a page: its rungs, and their recorded times on each machine, named, as tables and plots.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/cli/site/site_frame.h"
#include "harness/report/plots.h"

namespace klab {

class SiteLadders {
 public:
  /// Collects the ladders of all machines and draws their plots, with one gnuplot.
  explicit SiteLadders(SiteRecords& records);

  /// Returns the contents of a lab's page; `headings` receives its operations.
  std::string html(const Lab& lab, const PageContext& page, std::vector<PageHeading>& headings) const;

 private:
  struct OfMachine {
    std::string name, path;  // of the machine, and of its page
    std::vector<LadderView> ladders;
    std::map<const LadderView*, std::string> plots;  // keys
  };
  std::string measured(const std::string& op, const PageContext& page, int number) const;

  std::vector<OfMachine> machines_;
  Plots plots_;
};

}  // namespace klab
