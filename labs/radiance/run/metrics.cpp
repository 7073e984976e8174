#include "labs/radiance/run/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "harness/program/memory.h"
#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr std::array kOwners = {"pictures", "table", "optimizer", "grid", "batch", "trainer"};
const std::string& head_of_metrics() {
  static const std::string head = [] {
    std::string text =
        "step,seconds,loss,psnr_batch,rays,samples,marched,samples_per_second,occupied,memory,memory_peak,"
        "cpu,waited,learning_rate,batch,bytes_pictures,bytes_table,bytes_optimizer,bytes_grid,bytes_batch,"
        "bytes_trainer,loss_pixels";
    for (const LossTerm& each : loss_terms()) text += fmt::format(",loss_{}", each.term->name);
    return text +
           ",gradient_norm,gradient_clipped,rate_factor,device_free,psnr_unseen,ssim_unseen,bytes_sent,"
           "loss_scale,skipped,device_busy,device_used,device_memory,loss_weight_decay";
  }();
  return head;
}
constexpr int64_t kMostBytesMetrics = 200'000'000;
constexpr size_t kMostColumns = 100;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(',', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

/// Splits lines into fields, the titles first; leaves out a last line without an end.
std::vector<std::vector<std::string>> lines_in(const fs::path& file) {
  std::istringstream in(read_input(file, kMostBytesMetrics));
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(in, line) && !in.eof();) lines.push_back(fields_of(line));
  return lines;
}

size_t column_of(const std::vector<std::string>& titles, const std::string& name) {
  return size_t(std::ranges::find(titles, name) - titles.begin());
}

double number_of_field(const std::string& text) {
  // A value that is no number is missing, like an empty one.
  for (const char* none : {"", "nan", "-nan", "inf", "-inf"})
    if (text == none) return std::numeric_limits<double>::quiet_NaN();
  return number_from<double>(text, {-1e300, 1e300});
}

/// Returns the step of a line, or -1.
int64_t step_of_metrics(const std::vector<std::string>& titles, const std::vector<std::string>& fields) {
  const size_t at = column_of(titles, "step");
  if (fields.size() != titles.size() || at >= fields.size()) return -1;
  try {
    return number_from<int64_t>(fields[at], {0, range::steps.high});
  } catch (const std::invalid_argument&) {
    return -1;
  }
}

}  // namespace

Metrics::Metrics(const fs::path& file, int64_t done) : file_(file) {
  std::string text = head_of_metrics() + "\n";
  if (std::error_code error; done > 0 && fs::exists(file, error)) {
    const auto lines = lines_in(file);
    const std::vector<std::string> wanted = fields_of(head_of_metrics());
    for (size_t i = 1; i < lines.size(); ++i) {
      if (const int64_t step = step_of_metrics(lines[0], lines[i]); step < 0 || step > done) continue;
      for (size_t c = 0; c < wanted.size(); ++c) {
        const size_t at = column_of(lines[0], wanted[c]);
        text += (c == 0 ? "" : ",") + (at < lines[i].size() ? lines[i][at] : std::string());
      }
      text += "\n";
    }
  }
  write_file(file, text);
  out_.open(file, std::ios::app);
}

void Metrics::line(const MetricsLine& l) {
  const StepReport& r = l.report;
  const std::string rate = std::isfinite(l.learning_rate) ? fmt::format("{:.6g}", l.learning_rate) : "";
  std::string text = fmt::format("{},{:.3f},{:.6g},{:.3f},{},{},{},{:.0f},{:.5f},{},{},{:.3f},{:.3f},{},{}",
                                 r.step, l.seconds, r.loss, l.psnr, r.rays, r.samples, r.marched, l.rate,
                                 l.occupied, l.memory, l.memory_peak, l.cpu, l.waited, rate, l.batch);
  const auto owned = memory_by_owner();
  for (const char* owner : kOwners) {
    const auto at = owned.find(owner);
    text += fmt::format(",{}", at == owned.end() ? 0 : at->second.now);
  }
  double of_pixels = r.loss;
  std::string terms;
  for (const double term : r.terms) {
    of_pixels -= term;
    terms += term != 0 ? fmt::format(",{:.6g}", term) : ",";
  }
  text += fmt::format(",{:.6g}{}", of_pixels, terms);
  for (const double norm : {r.gradient_norm, r.clipped_norm})
    text += std::isfinite(norm) ? fmt::format(",{:.6g}", norm) : ",";
  text += fmt::format(",{:.6g},", l.rate_factor);
  if (l.device_free > 0) text += fmt::format("{}", l.device_free);
  text += l.unseen ? fmt::format(",{:.3f},{:.5f}", l.unseen->psnr, l.unseen->ssim) : ",,";
  text += fmt::format(",{}", l.sent);
  text += l.loss_scale > 0 ? fmt::format(",{:.10g},{}", l.loss_scale, l.skipped) : ",,";
  text += l.device ? fmt::format(",{:.2f},{},{}", l.device->busy, l.device->used, l.device->memory) : ",,,";
  text += r.decay > 0 ? fmt::format(",{:.6g}", r.decay) : ",";
  out_ << text << '\n' << std::flush;
  if (!out_) throw std::runtime_error(file_.string() + ": cannot be written: is the disk full?");
}

MetricsColumns read_metrics(const fs::path& file) {
  const auto lines = lines_in(file);
  if (lines.empty())
    throw std::runtime_error(file.string() + ": has no line of titles: is it a metrics.csv?");
  const std::vector<std::string>& titles = lines[0];
  if (titles.size() > kMostColumns || column_of(titles, "step") == titles.size())
    throw std::runtime_error(file.string() + ": has no column \"step\": is it a metrics.csv?");
  MetricsColumns columns;
  for (const std::string& title : titles)
    if (!columns.try_emplace(title).second)
      throw std::runtime_error(fmt::format("{}: has two columns \"{}\"", file.string(), excerpt(title)));
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].size() != titles.size())
      throw std::runtime_error(fmt::format("{}, line {}: has {} fields, and there are {} titles",
                                           file.string(), i + 1, lines[i].size(), titles.size()));
    for (size_t c = 0; c < titles.size(); ++c) try {
        columns[titles[c]].push_back(number_of_field(lines[i][c]));
      } catch (const std::invalid_argument& error) {
        throw std::runtime_error(
            fmt::format("{}, line {}: \"{}\" {}", file.string(), i + 1, excerpt(titles[c]), error.what()));
      }
  }
  return columns;
}

}  // namespace klab
