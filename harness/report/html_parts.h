// Parts of the page: tables, a lab's section, training.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/report/ladder_view.h"
#include "harness/report/plots.h"
#include "harness/report/training.h"

namespace klab {

struct HtmlCell {
  std::string html;
  std::string sort;   // key to sort by, or empty
  std::string style;  // CSS class
  static HtmlCell text(const std::string& text, const std::string& style = "");
  static HtmlCell code(const std::string& text);
  static HtmlCell number(double value, const std::string& shown, const std::string& style = "");
};

/// A table that the page's script can sort and optionally filter.
class HtmlTable {
 public:
  HtmlTable(std::string id, std::vector<std::string> heads) : id_(std::move(id)), heads_(std::move(heads)) {}
  void add(std::vector<HtmlCell> cells, const std::string& style = "");
  /// Names the columns that narrow screens show; by default all.
  void keep(std::vector<size_t> columns) { kept_ = std::move(columns); }
  std::string html(bool filter) const;

 private:
  std::string id_;
  /// Returns the class of a cell, with that of columns which narrow screens leave out.
  std::string style_of(size_t column, const std::string& style) const;

  std::vector<std::string> heads_;
  std::vector<size_t> kept_;
  std::vector<std::vector<HtmlCell>> rows_;
  std::vector<std::string> styles_;
};

/// Appends the cells of a timed row: time, interval, rate, share of the ceiling, three speedups and the
/// error.
void timed_cells(std::vector<HtmlCell>& cells, const LadderView& view, const Row& row);

/// The section of a lab. Its plots are requested first, drawn by one gnuplot for all, and then inserted.
struct LabSection {
  std::string id;
  std::function<std::string(const Plots&)> html;
};
using LabSections = std::vector<LabSection>;
LabSections lab_sections(const std::vector<LadderView>& ladders, const nlohmann::json& ceilings,
                         Plots& plots);

struct TrainingPlots {
  std::vector<std::string> columns;  // by drawn column: the curves of all runs
  struct Levels {
    std::string shares, gradient;
  };
  std::vector<Levels> levels;       // by run: its hash table's levels; empty if it has none
  std::vector<std::string> stages;  // by run: shares of its stages over time
  std::vector<std::string> terms;   // by run: terms of its loss
};
TrainingPlots training_plots(const std::vector<TrainingRun>& runs, Plots& plots);
std::string training_html(const std::vector<TrainingRun>& runs, const TrainingPlots& keys,
                          const Plots& plots);

}  // namespace klab
