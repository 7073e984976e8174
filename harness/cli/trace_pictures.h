// Pictures of a watched run, drawn from what its executor recorded: how often each sector of an array is used and by whom, lanes
// against banks, warps against steps, active lanes. Each comes with the numbers that are drawn.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/cli/svg.h"
#include "harness/core/lab.h"
#include "harness/records/counts.h"
#include "harness/simt/recording.h"

namespace klab {

struct TracePicture {
  std::string name;   // of its files: heat_in, banks_line_42, steps_multiply, lanes
  std::string title;  // in words
  Svg svg;
  std::string csv;
  double weight =
      0;  // how much there is to see, among pictures of its kind; 0: nothing that is not so everywhere
};

/// A recorded run.
struct RecordedRun {
  const LabOp* op = nullptr;
  const CountedRun* run = nullptr;
  const simt::Recording* recording = nullptr;
};

/// Returns all pictures of a run: of arrays, banks and addresses (worst first), kernels, lanes. `left_out` gets sentences about what there was no
/// room for.
std::vector<TracePicture> trace_pictures(const RecordedRun& of, std::vector<std::string>& left_out);
/// One kind each.
std::vector<TracePicture> heat_pictures(const RecordedRun& of, std::vector<std::string>& left_out);
std::vector<TracePicture> bank_pictures(const RecordedRun& of, std::vector<std::string>& left_out);
std::vector<TracePicture> address_pictures(const RecordedRun& of, std::vector<std::string>& left_out);
std::vector<TracePicture> step_pictures(const RecordedRun& of, std::vector<std::string>& left_out);
std::vector<TracePicture> lane_pictures(const RecordedRun& of, std::vector<std::string>& left_out);

/// Returns the steps of all recorded blocks in the Trace Event Format (JSON), which Perfetto and Chrome show: a track for each warp,
/// for each barrier's phases, and for copies and products in flight. A step is a microsecond there.
std::string perfetto_trace(const RecordedRun& of);

/// Throws std::invalid_argument in one line if a run at this shape would take more memory or work than a recorded run may.
void require_recordable(const LabOp& op, ShapeView shape);

/// Creates the folder if necessary. Throws FileError in one line if files cannot be written there.
void require_picture_folder(const std::filesystem::path& folder);
/// Writes NAME.svg and NAME.csv for each, each under a temporary name first. Returns the number of files.
size_t write_pictures(const std::vector<TracePicture>& pictures, const std::filesystem::path& folder);

/// Returns the pictures as a section of a page that has svg_style().
std::string pictures_html(const std::vector<TracePicture>& pictures,
                          const std::vector<std::string>& left_out);

/// Returns a section of a page that steps through a warp of each recorded block: lanes, places, source lines. Empty: nothing recorded.
std::string stepper_html(const RecordedRun& of);

/// Returns the pictures that show most as one SVG file: the worst banks, two arrays, the longest time line, and lanes where some are
/// idle.
std::string picture_sheet(const std::string& title, const std::vector<TracePicture>& pictures);

/// Returns the text of a source line without its indentation; empty if the file is not here.
std::string source_line(const std::string& file, int line);
/// Returns the text, shortened to that number of letters.
std::string shortened(const std::string& text, size_t letters);

}  // namespace klab
