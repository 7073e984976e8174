#include "harness/report/plots.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/records/atomic_file.h"
#include "harness/report/text_cells.h"
#include "harness/simt/gpus.h"
#include "harness/timing/unit_ceilings.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

// Medium tones that contrast with white and with black, and that most people can tell apart.
constexpr const char* kColors[] = {"#3b7dd8", "#e07b00", "#2a9d5c", "#c2479b", "#8a6fe8",
                                   "#b8860b", "#d9534f", "#1b9aaa", "#7a8b3a", "#9a6a4f"};
const char* color(size_t i) { return kColors[i % std::size(kColors)]; }

constexpr const char* kPeer = "#8a8f98";

// height of a line of text in a roofline, as a fraction of its vertical axis
constexpr double kLabelHeight = 0.045;

/// Quotes text for gnuplot.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '_' || c == '^' || c == '{' || c == '}' || c == '@' || c == '&' || c == '~') out += "\\\\";
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

/// A rung in a diagram with two logarithmic axes.
struct RungPoint {
  double x, y;
  std::string name;
};

/// Merges the names of points that would overlap into one label in their middle. `near` is the factor up to
/// which neighbors overlap.
std::vector<RungPoint> readable(std::vector<RungPoint> points, double near) {
  std::ranges::sort(points, {}, &RungPoint::y);
  std::vector<RungPoint> labels;
  std::vector<bool> done(points.size(), false);
  for (size_t i = 0; i < points.size(); ++i) {
    if (done[i]) continue;
    RungPoint label = points[i];
    std::set<std::string> names;
    double top = label.y;
    for (size_t j = i; j < points.size() && points[j].y <= top * near; ++j) {
      if (done[j] || points[j].x > label.x * 1.2 || points[j].x * 1.2 < label.x) continue;
      done[j] = true;
      top = points[j].y;
      names.insert(points[j].name);
    }
    label.y = std::sqrt(label.y * top);
    label.name = fmt::format("{}", fmt::join(names, " "));
    labels.push_back(std::move(label));
  }
  return labels;
}

bool is_peer(const Row& row) {
  const Variant* v = find_variant(row.variant);
  return v != nullptr && v->peer;
}

/// Returns "04" for "04_cache_tile".
std::string number_of(const Row& row) {
  const std::string name = short_name(row);
  return name.substr(0, name.find('_'));
}

/// Replaces gnuplot's black by the page's text color, and prefixes names with the plot's key, since all plots
/// share one page.
std::string adapted(std::string svg, const std::string& key) {
  const auto replace = [&svg](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = svg.find(from, at)) != std::string::npos; at += to.size())
      svg.replace(at, from.size(), to);
  };
  svg.erase(0, svg.find("<svg"));
  for (const char* ink : {"black", "white", "gray"}) replace(fmt::format(" color=\"{}\"", ink), "");
  for (const char* black : {"rgb(  0,   0,   0)", "rgb(0,0,0)", "black"}) replace(black, "currentColor");
  replace("id='gp", "id='" + key + "gp");
  replace("id=\"gp", "id=\"" + key + "gp");
  replace("'#gp", "'#" + key + "gp");
  replace("\"#gp", "\"#" + key + "gp");
  replace("id=\"gnuplot_plot", "id=\"" + key + "_plot");
  replace("id=\"gnuplot_canvas", "id=\"" + key + "_canvas");
  for (const char* part : {"title", "desc", "filter"}) {
    const std::string open = fmt::format("<{}", part), close = fmt::format("</{}>", part);
    for (size_t at = 0; (at = svg.find(open, at)) != std::string::npos;)
      svg.erase(at, svg.find(close, at) + close.size() - at);
  }
  return svg;
}

}  // namespace

std::string Plots::begin(int width, int height, const std::string& name, std::string csv) {
  const std::string key = fmt::format("p{}", scripts_.size());
  figures_.push_back({name, std::move(csv)});
  scripts_.push_back(fmt::format(
      "reset\nset term svg size {},{} dynamic enhanced font 'system-ui,sans-serif,13'\nset output '{}.svg'\n"
      "set border 3 lw 0.8 lc rgb '#888888'\nset tics nomirror scale 0.5 textcolor rgb 'black'\nset grid lw "
      "0.5 lc rgb "
      "'#99888888'\n"
      "set style fill solid 0.85 noborder\nunset key\n",
      width, height, key));
  return key;
}

namespace {

/// Returns 1, 2 or 5 times a power of ten, chosen so that an axis up to `most` has at most five numbers and
/// they do not overlap.
double step_of_tics(double most) {
  const double least = most / 5.5, power = std::pow(10, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0})
    if (times * power >= least) return times * power;
  return 10 * power;
}

}  // namespace

std::string Plots::ladder(const LadderView& view) {
  std::vector<const Row*> rows;
  for (const Row* r : view.rows)
    if (!r->seconds.empty()) rows.push_back(r);
  if (rows.empty()) return "";
  double longest = 0, ceiling = 0;
  std::string data, tics, csv = fmt::format("rung,{},low,high,over_naive\n", csv_cell(view.unit()));
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& r = *rows[i];
    const double rate = view.rate(r) * 1e-9, scale = rate * r.time.value;
    const double low = scale / r.time.high, high = scale / r.time.low;
    longest = std::max({longest, rate, std::min(high, 1.3 * rate)});  // a very wide interval may be cut off
    if (r.ceiling == view.ceiling) ceiling = std::max(ceiling, r.ceiling_per_second * 1e-9);
    const std::string times = r.over_naive ? three_digits(r.over_naive->value) + "×" : "";
    data += fmt::format("{} {} {} {} {} {}\n", i + 1, rate, low, high, is_peer(r) ? "0x8a8f98" : "0x3b7dd8",
                        times.empty() ? "\"\"" : quoted(times));
    tics += fmt::format("{}{} {}", i ? "," : "", quoted(short_name(r)), i + 1);
    csv += fmt::format("{},{:.6g},{:.6g},{:.6g},{}\n", csv_cell(short_name(r)), rate, low, high,
                       r.over_naive ? fmt::format("{:.6g}", r.over_naive->value) : "");
  }
  const double right = 1.22 * std::max(longest, ceiling < 4 * longest ? ceiling : 0);
  const std::string key =
      begin(520, 58 + 21 * int(rows.size()), fmt::format("{} {}", view.op, view.size), csv);
  std::string& s = scripts_.back();
  s += fmt::format(
      "room = {}\n$d << EOD\n{}EOD\nset yrange [{}:0.4] noextend\nset xrange [0:{}]\nset ytics scale 0 ({})\n"
      "unset grid\nset grid x lw 0.5 lc rgb '#99888888'\nset xlabel '{}' offset 0,0.4\nset xtics {}\nset "
      "format x '%.10g'\n",
      0.87 * right, data, double(rows.size()) + 0.6, right, tics, view.unit(), step_of_tics(right));
  if (ceiling > 0 && ceiling < right && view.latency().empty())
    s += fmt::format("set arrow from {0},graph 0 to {0},graph 1 nohead dt 2 lw 1.5 lc rgb '#d9534f'\n",
                     ceiling);
  s += "plot $d using ($2/2):1:(0):2:($1-0.36):($1+0.36):5 with boxxyerror lc rgb variable, "
       "$d using 2:1:3:4 with xerrorbars pt -1 lw 1.2 lc rgb 'black', "
       "$d using ($4 > room ? room : $4):1:6 with labels left offset 0.6,0 font ',11'\n";
  return key;
}

namespace {

/// The roofline of rungs that were timed on a GPU, from the data sheet that their ceilings name: "DRAM of
/// NVIDIA H200".
struct GpuRoof {
  const simt::GpuModel* model = nullptr;
  bool tensor = false;  // whether a rung uses tensor cores

  double lanes() const { return 2.0 * model->multiprocessors * model->rates.clock * model->rates.lanes; }
  double peak() const {
    return tensor ? 2.0 * model->multiprocessors * model->rates.clock * model->rates.tensor : lanes();
  }
  void look_at(const Row& row) {
    const size_t of = row.backend == "cuda" ? row.ceiling.find(" of ") : std::string::npos;
    if (of == std::string::npos) return;
    if (model == nullptr) model = simt::find_gpu(row.ceiling.substr(of + 4));
    if (model != nullptr && row.ceiling.starts_with("multiply-adds") &&
        row.ceiling_per_second > 1.5 * lanes())
      tensor = true;
  }
};

}  // namespace

std::string Plots::roofline(const std::vector<const LadderView*>& views, const nlohmann::json& ceilings) {
  std::map<std::string, double> slopes;                                  // bytes/s
  std::map<std::pair<std::string, double>, std::vector<double>> others;  // GFLOP/s at an intensity
  double peak = 0, least = 1e300, most = 0, low = 1e300;
  int threads = 0;
  std::string data, csv = "rung,size,flop_per_byte,gflop_per_s\n";
  std::vector<RungPoint> points;
  GpuRoof gpu;
  for (const LadderView* view : views)
    for (const Row* r : view->rows) {
      if (r->seconds.empty() || !(r->flops > 0) || !(r->bytes > 0)) continue;
      gpu.look_at(*r);
      const double intensity = r->flops / r->bytes, rate = r->flops / r->time.value * 1e-9;
      least = std::min(least, intensity);
      most = std::max(most, intensity);
      low = std::min(low, rate);
      threads = std::max(threads, r->threads);
      data += fmt::format("{} {} {}\n", intensity, rate, is_peer(*r) ? "0x8a8f98" : "0x3b7dd8");
      points.push_back({intensity, rate, number_of(*r)});
      csv += fmt::format("{},{},{:.6g},{:.6g}\n", csv_cell(short_name(*r)), csv_cell(view->size), intensity,
                         rate);
      // A resource that is neither a slope nor the peak limits the FLOP/s of this op only. It is drawn as a
      // line over its rungs.
      if (r->of_ceiling &&
          (unit_of(r->ceiling) == unit_of(CeilingKind::transcendental) || r->ceiling.starts_with("gather")))
        others[{r->ceiling, intensity}].push_back(rate / r->of_ceiling->value);
      if (r->ceiling.starts_with("fma f32") || is_unit_ceiling(r->ceiling))
        peak = std::max(peak, r->ceiling_per_second);
      if (r->ceiling.starts_with("copy") || r->ceiling.starts_with("read"))
        slopes[r->ceiling] = std::max(slopes[r->ceiling], r->ceiling_per_second);
    }
  if (data.empty()) return "";
  if (gpu.model != nullptr) {
    peak = gpu.peak();
    slopes["DRAM"] = gpu.model->rates.dram;
  } else if (ceilings.is_object())
    for (const auto& c : ceilings.value("measured", nlohmann::json::array())) {
      if (c.value("threads", 0) != threads) continue;
      const std::string name = c.value("name", "");
      if (name == "fma f32" && peak == 0) peak = c.value("per_second", 0.0);
      if (name == "copy memory" || name == "read L2") slopes.emplace(name, c.value("per_second", 0.0));
    }
  if (peak == 0 && slopes.empty()) return "";
  double top = peak;
  if (peak == 0)
    for (const auto& [name, bytes] : slopes) top = std::max(top, bytes * most * 4);
  for (const auto& [name, bytes] : slopes)
    if (peak > 0) most = std::max(most, peak / bytes);
  least /= 3;
  most *= 3;
  const double floor = low / 2, roof = top * 1e-9 * 2.2;
  std::string labels;
  for (const RungPoint& at : readable(points, std::pow(roof / floor, kLabelHeight)))
    labels += fmt::format("{} {} {}\n", at.x, at.y, quoted(at.name));
  const std::string key =
      begin(520, 340 + 18 * int((slopes.size() + 1) / 2), views.front()->op + " roofline", csv);
  std::string& s = scripts_.back();
  s += fmt::format(
      "$d << EOD\n{}EOD\n$l << EOD\n{}EOD\nset logscale xy\nset xrange [{}:{}]\nset yrange [{}:{}]\n"
      "set xlabel 'FLOP/byte' offset 0,0.7\nset ylabel 'GFLOP/s' offset 1.2,0\nset format y '%g'\n"
      "set format x '%g'\nset samples 300\nset key below left Left reverse maxcols 2 samplen 1.6 font "
      "',11'\n",
      data, labels, least, most, floor, roof);
  for (const auto& [where, rates] : others) {
    const double x = where.second, y = median(rates);
    s += fmt::format(
        "set arrow from first {},first {} to first {},first {} nohead dt 2 lw 1.5 lc rgb '#d9534f'\n",
        x / 1.7, y, x * 1.7, y);
    s += fmt::format("set label {} at first {},first {} center offset 0,0.6 font ',10' front\n",
                     quoted(where.first), x, y);
  }
  std::string plots;
  size_t line = 1;
  if (gpu.model != nullptr && gpu.tensor) {
    const double bandwidth = gpu.model->rates.dram * 1e-9, cap = gpu.lanes() * 1e-9;
    plots = fmt::format("({0}*x < {1} ? {0}*x : {1}) with lines lw 1.6 lc rgb '{2}' title {3}", bandwidth,
                        cap, color(line++),
                        quoted(fmt::format("without tensor cores, {} GFLOP/s", three_digits(cap))));
  }
  for (const auto& [name, bytes] : slopes) {
    const double bandwidth = bytes * 1e-9, cap = peak > 0 ? peak * 1e-9 : 1e300;
    plots += fmt::format("{0}({1}*x < {2} ? {1}*x : {2}) with lines lw 1.6 lc rgb '{3}' title {4}",
                         plots.empty() ? "" : ", ", bandwidth, cap, color(line),
                         quoted(fmt::format("{}, {} GB/s", name, three_digits(bandwidth))));
    ++line;
  }
  if (peak > 0) {
    if (plots.empty()) plots = fmt::format("{} with lines lw 1.6 lc rgb '#d9534f' notitle", peak * 1e-9);
    s += fmt::format("set label {} at graph 0.98,first {} right offset 0,0.7 font ',11' front\n",
                     quoted(fmt::format("{}, {} GFLOP/s", gpu.tensor ? "tensor cores" : "multiply-add",
                                        three_digits(peak * 1e-9))),
                     peak * 1e-9);
  }
  s += "plot " + plots +
       ", $d using 1:2:3 with points pt 7 ps 0.7 lc rgb variable notitle, "
       "$l using 1:2:3 with labels left offset 0.7,0 font ',10' notitle\n";
  return key;
}

std::string Plots::sizes(const std::vector<const LadderView*>& views) {
  std::map<std::string, Curve> lines;
  std::set<double> places;
  const bool flops = counts_flops(views);
  for (const LadderView* view : views)
    for (const Row* r : view->rows) {
      if (r->seconds.empty()) continue;
      Curve& line = lines[short_name(*r)];
      line.name = short_name(*r);
      line.points.emplace_back(r->bytes, (flops ? r->flops : r->bytes) / r->time.value * 1e-9);
      places.insert(r->bytes);
    }
  if (places.size() < 2) return "";
  std::vector<Curve> list;
  for (auto& [name, line] : lines) {
    std::sort(line.points.begin(), line.points.end());
    list.push_back(std::move(line));
  }
  const std::string key = curves(list, "bytes that must be moved", flops ? "GFLOP/s" : "GB/s", true, true);
  figures_.back().name = views.front()->op + " sizes";
  return key;
}

std::string Plots::curves(const std::vector<Curve>& list, const std::string& x, const std::string& y,
                          bool log_x, bool log_y) {
  if (list.empty()) return "";
  std::string csv = "curve," + csv_cell(x) + "," + csv_cell(y) + "\n";
  for (const Curve& curve : list)
    for (const auto& [px, py] : curve.points)
      csv += fmt::format("{},{:.8g},{:.6g}\n", csv_cell(curve.name), px, py);
  const std::string key = begin(520, 316 + 17 * int((list.size() + 1) / 2), y + " over " + x, csv);
  std::string& s = scripts_.back();
  for (size_t i = 0; i < list.size(); ++i) {
    s += fmt::format("$d{} << EOD\n", i);
    for (const auto& [px, py] : list[i].points) s += fmt::format("{} {}\n", px, py);
    s += "EOD\n";
  }
  s += fmt::format(
      // The key is one line taller than its text; else it would cover the name of the axis above it.
      "set xlabel {} offset 0,0.7\nset ylabel {} offset 1.2,0\nset key below left Left reverse maxcols 2 "
      "samplen 1.6 height 1.2 font ',11'\n{}{}",
      quoted(x), quoted(y), log_x ? "set logscale x\nset format x '%.0s %c'\n" : "",
      log_y ? "set logscale y\nset format y '%g'\n" : "");
  std::string plots;
  for (size_t i = 0; i < list.size(); ++i)
    plots += fmt::format(
        "{}$d{} with linespoints pt 7 ps {} lw 1.6 lc rgb '{}' title {}", i ? ", " : "", i,
        list[i].points.size() == 1 ? 1.0 : 0.45,  // a single point needs a visible mark
        list[i].name.find("openblas") != std::string::npos || list[i].name.find("onednn") != std::string::npos
            ? kPeer
            : color(i),
        quoted(list[i].name));
  s += "plot " + plots + "\n";
  return key;
}

std::string Plots::over_names(const std::vector<Curve>& list, const std::vector<std::string>& names,
                              const std::string& y) {
  if (list.empty()) return "";
  const std::string key = curves(list, "run", y, false, false);
  figures_.back().name = "runs";
  std::string tics;
  for (size_t i = 0; i < names.size(); ++i)
    tics += fmt::format("{}{} {}", i ? "," : "", quoted(names[i]), i + 1);
  std::string& s = scripts_.back();
  s.insert(s.rfind("plot "), fmt::format("set xtics ({}) font ',10'\nset xrange [0.7:{}]\nset yrange [0:*]\n",
                                         tics, double(names.size()) + 0.3));
  return key;
}

namespace {

/// Returns a name for a file: letters, digits and underscores.
std::string file_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.';
    if (good || (!name.empty() && name.back() != '_')) name += good ? c : '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name.empty() ? "figure" : name;
}

}  // namespace

size_t Plots::write(const fs::path& folder) const {
  std::map<std::string, int> used;
  size_t count = 0;
  for (size_t i = 0; i < figures_.size(); ++i) {
    const auto drawn = drawn_.find(fmt::format("p{}", i));
    if (drawn == drawn_.end()) continue;
    std::string name = file_name(figures_[i].name);
    if (const int times = ++used[name]; times > 1) name += fmt::format("_{}", times);
    write_file((folder / (name + ".svg")).string(),
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + drawn->second + "\n");
    write_file((folder / (name + ".csv")).string(), figures_[i].csv);
    ++count;
  }
  return count;
}

bool Plots::draw() {
  if (scripts_.empty()) return true;
  std::string form = (fs::temp_directory_path() / "klab_plots_XXXXXX").string();
  if (mkdtemp(form.data()) == nullptr) return false;
  const fs::path folder = form;
  {
    std::ofstream script(folder / "plots.gp");
    script << "set encoding utf8\n";
    for (const std::string& s : scripts_) script << s << "set output\n";
  }
  const int status =
      std::system(fmt::format("cd '{}' && gnuplot plots.gp >/dev/null 2>errors", folder.string()).c_str());
  bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  for (size_t i = 0; good && i < scripts_.size(); ++i) {
    std::ifstream in(folder / fmt::format("p{}.svg", i));
    std::ostringstream text;
    text << in.rdbuf();
    const std::string key = fmt::format("p{}", i);
    good = text.str().find("</svg>") != std::string::npos;
    drawn_[key] = adapted(text.str(), key);
  }
  if (!good) {
    drawn_.clear();
    error_ = WIFSIGNALED(status) || WEXITSTATUS(status) > 128 ? "it crashed" : "";
    std::ifstream errors(folder / "errors");
    for (std::string line; std::getline(errors, line);)
      if (line.find("line ") != std::string::npos || line.find("not found") != std::string::npos)
        error_ = line;
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return good;
}

std::string Plots::svg(const std::string& key) const {
  const auto at = drawn_.find(key);
  return at == drawn_.end() ? "" : at->second;
}

}  // namespace klab
