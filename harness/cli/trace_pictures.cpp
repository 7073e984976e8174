#include "harness/cli/trace_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "harness/check/cases.h"
#include "harness/core/element.h"
#include "harness/core/source.h"
#include "harness/records/atomic_file.h"
#include "harness/records/memory_left.h"
#include "harness/report/ladder_view.h"
#include "harness/simt/shadow.h"

namespace klab {
namespace {

constexpr size_t kMostSheet = 120'000;     // bytes of a sheet's pictures
constexpr double kMostRecordedWork = 3e8;  // of work(): minutes of a watched run on one core
constexpr int64_t kMostRecordedTensors = int64_t(512) << 20;  // bytes

/// Returns the name with runs of other characters than letters and digits as _.
std::string file_name_of(const std::string& name) {
  std::string file;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      file += c;
    else if (!file.empty() && file.back() != '_')
      file += '_';
  while (file.ends_with("_")) file.pop_back();
  return file;
}

}  // namespace

std::string source_line(const std::string& file, int line) {
  std::error_code error;
  const std::filesystem::path in_tree = source_root() / place_in_tree(file);
  const auto at = std::filesystem::exists(in_tree, error) ? in_tree : std::filesystem::path(file);
  if (!std::filesystem::exists(at, error)) return "";
  std::istringstream in(read_text(at));
  std::string text;
  for (int k = 0; k < line; ++k)
    if (!std::getline(in, text)) return "";
  const size_t begin = text.find_first_not_of(" \t");
  return begin == text.npos ? "" : text.substr(begin);
}

std::string shortened(const std::string& text, size_t letters) {
  if (text.size() <= letters) return text;
  size_t end = letters - 3;
  // No byte of a letter of several is left alone.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::vector<TracePicture> trace_pictures(const RecordedRun& of, std::vector<std::string>& left_out) {
  std::vector<TracePicture> all;
  for (auto* kind : {heat_pictures, bank_pictures, address_pictures, step_pictures, lane_pictures})
    for (TracePicture& p : kind(of, left_out)) all.push_back(std::move(p));
  std::set<std::string> names;
  for (TracePicture& p : all) {
    const std::string name = file_name_of(p.name);
    p.name = name;
    for (int k = 2; !names.insert(p.name).second; ++k) p.name = fmt::format("{}_{}", name, k);
  }
  const std::vector<std::string>& more = of.recording->left_out();
  left_out.insert(left_out.end(), more.begin(), more.end());
  return all;
}

void require_recordable(const LabOp& op, ShapeView shape) {
  int64_t bytes = 0;
  for (const TensorSpec& spec : op.op.tensors(shape)) {
    int64_t elements = int64_t(size_of(spec.element));
    for (const int64_t d : spec.dims)
      if (__builtin_mul_overflow(elements, d, &elements)) elements = kMostRecordedTensors + 1;
    bytes = std::min(bytes, kMostRecordedTensors) + std::min(elements, kMostRecordedTensors + 1);
  }
  const std::string what = fmt::format("{} of {} is too large to draw", shape_text(op.op, shape), op.op.name);
  if (bytes > kMostRecordedTensors)
    throw std::invalid_argument(
        fmt::format("{}: its tensors have more than {} MB; give a smaller one with --shape", what,
                    kMostRecordedTensors >> 20));
  if (busiest_work(op, shape) > kMostRecordedWork)
    throw std::invalid_argument(
        fmt::format("{}: its watched run would take {:.0f} times as long as a picture may; give a "
                    "smaller one with --shape",
                    what, std::ceil(busiest_work(op, shape) / kMostRecordedWork)));
  // Each tensor lies on the host and on the device, where a cell says what is known of each word.
  require_memory(bytes * int64_t(2 + sizeof(simt::Cell) / 4) + int64_t(simt::kMostRecordedBytes),
                 "a recorded run at " + shape_text(op.op, shape), "give a smaller one with --shape");
}

void require_picture_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw FileError(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  if (!std::filesystem::is_directory(folder))
    throw FileError(folder.string() + ": is no folder: name one for the pictures");
  require_writable_file(folder / "lanes.csv");
}

size_t write_pictures(const std::vector<TracePicture>& pictures, const std::filesystem::path& folder) {
  for (const TracePicture& p : pictures) {
    write_file(folder / (p.name + ".svg"), p.svg.str(p.title, true));
    write_file(folder / (p.name + ".csv"), p.csv);
  }
  return 2 * pictures.size();
}

std::string pictures_html(const std::vector<TracePicture>& pictures,
                          const std::vector<std::string>& left_out) {
  if (pictures.empty()) return "";
  std::string html =
      fmt::format("<style>{}</style>\n<h2>Pictures</h2>\n<div class=\"plots\">\n", svg_style());
  for (const TracePicture& p : pictures)
    html += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", p.svg.str(p.title, false),
                        escaped(p.title));
  html += "</div>\n";
  for (const std::string& what : left_out) html += "<p class=\"note\">Left out: " + escaped(what) + ".</p>\n";
  return html +
         "<p class=\"note\">Drawn from what the executor recorded; <code>--pictures DIR</code> writes each "
         "with its "
         "numbers.</p>\n";
}

std::string picture_sheet(const std::string& title, const std::vector<TracePicture>& pictures) {
  Svg sheet;
  size_t bytes = 0, left = 0;
  const auto add = [&](const char* prefix, size_t most) {
    std::vector<const TracePicture*> list;
    for (const TracePicture& p : pictures)
      if (p.name.starts_with(prefix) && p.weight > 0) list.push_back(&p);
    std::ranges::stable_sort(list, std::greater(), &TracePicture::weight);
    for (size_t k = 0; k < list.size(); ++k) {
      if (k >= most || bytes + list[k]->svg.bytes() > kMostSheet) {
        ++left;
        continue;
      }
      sheet.below(list[k]->svg);
      bytes += list[k]->svg.bytes();
    }
  };
  add("banks_", 1);
  add("heat_", 2);
  add("steps_", 1);
  add("lanes", 1);
  if (left > 0)
    sheet.paragraph(fmt::format("{} {} not shown here: klab trace --pictures draws all.", left,
                                left == 1 ? "picture is" : "pictures are"),
                    "d s");
  return sheet.str(title, true);
}

}  // namespace klab
