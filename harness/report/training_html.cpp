#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "harness/report/html_parts.h"

namespace klab {
namespace {

using nlohmann::json;

double number(const json& j, const char* key) {
  return j.is_object() && j.contains(key) && j[key].is_number() ? j[key].get<double>() : 0;
}

std::string stages_html(const TrainingRun& run) {
  if (!run.result.contains("stages") || !run.result["stages"].is_object()) return "";
  std::vector<std::pair<double, std::string>> stages;
  for (const auto& [name, stage] : run.result["stages"].items())
    stages.emplace_back(number(stage, "share"), name);
  std::sort(stages.rbegin(), stages.rend());
  const double steps = std::max(1.0, number(run.result, "steps"));
  std::string html =
      "<div class=\"scroll\"><table><thead><tr><th>stage</th><th class=\"n\">ms a step</th>"
      "<th class=\"n\">share</th><th>of its ceiling</th><th></th></tr></thead><tbody>\n";
  for (const auto& [share, name] : stages) {
    const json& stage = run.result["stages"][name];
    const std::string ceiling = stage.contains("ceiling") && stage["ceiling"].is_string()
                                    ? fmt::format("{:.0f} % of {}", 100 * number(stage, "of_ceiling"),
                                                  stage["ceiling"].get<std::string>())
                                    : "";
    html += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{:.2f}</td><td class=\"n\">{:.1f} %</td><td>{}</td><td><span "
        "class=\"stage\" style=\"width:{:.1f}rem\"></span></td></tr>\n",
        escaped(name), 1e3 * number(stage, "seconds") / steps, 100 * share, escaped(ceiling),
        12 * share / std::max(stages.front().first, 1e-9));
  }
  return html + "</tbody></table></div>\n";
}

double mean_of(const Curve& curve) {
  double sum = 0;
  for (const auto& [seconds, value] : curve.points) sum += value;
  return sum / std::max(1.0, double(curve.points.size()));
}

/// Returns a line of the planned, the largest and the mean bytes of a run.
std::string memory_html(const TrainingRun& run) {
  if (!run.result.contains("memory")) return "";
  const json& memory = run.result["memory"];
  return fmt::format(
      "<p class=\"note\">memory: {:.2f} GB planned, {:.2f} GB at most, {:.2f} GB on average, of {:.2f} GB "
      "allowed</p>\n",
      1e-9 * number(memory, "planned"), 1e-9 * number(memory, "peak"),
      1e-3 * mean_of(curve_of(run, "memory")), 1e-9 * number(memory, "budget"));
}

/// Returns a table of what the curves are on average, at most and at the end, and a line on clipping and the batch.
std::string means_html(const TrainingRun& run) {
  HtmlTable table("means_" + run.name, {"while it trained", "mean", "largest", "last"});
  for (size_t c = 0; c < run.curves.size(); ++c) {
    const auto& points = run.curves[c].points;
    if (points.empty()) continue;
    const auto largest = std::ranges::max_element(points, {}, &std::pair<double, double>::second);
    const auto cell = [&](double v) {
      return HtmlCell::number(v, fmt::format("{:.4g} {}", v, drawn_columns()[c].unit));
    };
    table.add({HtmlCell::text(drawn_columns()[c].axis), cell(mean_of(run.curves[c])), cell(largest->second),
               cell(points.back().second)});
  }
  std::string notes;
  if (run.clipped)
    notes += fmt::format("the gradient was clipped in {:.0f} % of the records", 100 * *run.clipped);
  if (run.result.contains("allocations_failed"))
    notes +=
        fmt::format("{}{:.0f} allocations failed, the batch was halved {:.0f} times and doubled {:.0f} times",
                    notes.empty() ? "" : "; ", number(run.result, "allocations_failed"),
                    number(run.result, "batches_shrunk"), number(run.result, "batches_grown"));
  if (run.best_batch)
    notes += fmt::format("; most samples a second, {:.3g} M, with a batch of {:.0f}", 1e-6 * run.best_rate,
                         *run.best_batch);
  return table.html(false) + (notes.empty() ? "" : "<p class=\"note\">" + notes + "</p>\n");
}

/// Returns the final statistics of a training's hash table, level by level; empty if there are none.
std::vector<json> levels_of(const TrainingRun& run) {
  std::vector<json> levels;
  if (run.result.contains("levels") && run.result["levels"].is_array())
    for (const json& level : run.result["levels"]) levels.push_back(level);
  return levels;
}

Curve by_level(const std::string& name, const std::vector<json>& levels, const char* key) {
  Curve curve{name, {}};
  for (size_t l = 0; l < levels.size(); ++l)
    if (const double v = number(levels[l], key); std::isfinite(v)) curve.points.emplace_back(double(l), v);
  return curve;
}

TrainingPlots::Levels level_plots(const TrainingRun& run, Plots& plots) {
  const std::vector<json> levels = levels_of(run);
  if (levels.size() < 2) return {};
  Curve gradient = by_level("gradient", levels, "gradient");
  std::erase_if(gradient.points, [](const auto& p) { return !(p.second > 0); });  // the axis is logarithmic
  std::vector<Curve> of_gradient;
  if (!gradient.points.empty()) of_gradient.push_back(std::move(gradient));
  return {plots.curves({by_level("of the entries: ever moved", levels, "moved"),
                        by_level("of the points in use: alone in an entry", levels, "alone")},
                       "level, the coarsest is 0", "share", false, false),
          plots.curves(of_gradient, "level, the coarsest is 0", "length of the gradient", false, true)};
}

std::string levels_html(const TrainingRun& run, const TrainingPlots::Levels& keys, const Plots& plots,
                        const std::string& id) {
  const std::vector<json> levels = levels_of(run);
  if (levels.empty()) return "";
  HtmlTable table(id, {"level", "points an axis", "entries", "ever moved", "points in use", "in entries",
                       "alone", "gradient"});
  for (size_t l = 0; l < levels.size(); ++l) {
    const json& level = levels[l];
    const auto whole = [&](const char* key) {
      return HtmlCell::number(number(level, key), fmt::format("{:.0f}", number(level, key)));
    };
    const auto share = [&](const char* key) {
      return HtmlCell::number(number(level, key), fmt::format("{:.1f} %", 100 * number(level, key)));
    };
    table.add(
        {HtmlCell::number(double(l), fmt::format("{}", l)), whole("points_per_axis"), whole("entries"),
         share("moved"), whole("points"), whole("touched"), share("alone"),
         HtmlCell::number(number(level, "gradient"), fmt::format("{:.2e}", number(level, "gradient")))});
  }
  std::string html = "<h4>Levels of the hash table</h4>\n<div class=\"plots\">\n";
  for (const auto& [key, caption] :
       {std::pair{keys.shares,
                  "Use and collisions: entries that ever had a gradient, and points of a batch that share "
                  "their entry with no other."},
        std::pair{keys.gradient, "How strongly the last batch pulls at each level."}})
    if (const std::string svg = plots.svg(key); !svg.empty())
      html += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, caption);
  return html + "</div>\n" + table.html(false);
}

/// Returns the caption of a picture that compares a view: the view and its PSNR where the run's cameras tell them.
std::string compared_text(const TrainingRun& run, const TrainingPicture& p) {
  std::string view;
  if (run.cameras)
    for (const CameraPlot::Camera& c : run.cameras->test)
      if (c.picture == p.name)
        view = fmt::format(", {}{}", c.name, c.psnr ? fmt::format(" ({:.2f} dB)", *c.psnr) : "");
  return p.name + view + ": left the truth, right the model; " +
         (p.name.starts_with("train_") ? "trained on" : "not trained on");
}

/// Returns a picture of a view with a slider. Without scripts and on paper the two pictures are next to each other.
std::string compared_html(const TrainingRun& run, const TrainingPicture& p) {
  std::string html = "<figure class=\"compare\"><div class=\"pair\">";
  for (const auto& [style, data, what] :
       {std::tuple{"truth", &p.truth, "the true picture"}, {"model", &p.data, "rendered by the model"}})
    html += fmt::format("<img class=\"{}\" src=\"{}\" width=\"{}\" height=\"{}\" alt=\"{}: {}\">", style,
                        *data, p.width, p.height, escaped(p.name), what);
  return html + fmt::format(
                    "</div><input type=\"range\" min=\"0\" max=\"100\" value=\"50\" aria-label=\"{}: how "
                    "much of the "
                    "truth is shown, in percent\"><figcaption>{}</figcaption></figure>\n",
                    escaped(p.name), escaped(compared_text(run, p)));
}

std::string pictures_html(const TrainingRun& run) {
  std::string html;
  for (const TrainingPicture& p : run.pictures) {
    if (!p.truth.empty()) {
      html += compared_html(run, p);
      continue;
    }
    const bool depth = p.name.find("depth") != std::string::npos;
    html += fmt::format(
        "<figure><img src=\"{}\" width=\"{}\" height=\"{}\" alt=\"{}\" loading=\"lazy\"><figcaption>{}: "
        "{}</figcaption></figure>\n",
        p.data, p.width, p.height, escaped(p.name), escaped(p.name),
        depth ? "depth, near is light" : "rendered by the model");
  }
  return html.empty() ? "" : "<div class=\"pictures\">\n" + html + "</div>\n";
}

}  // namespace

TrainingPlots training_plots(const std::vector<TrainingRun>& runs, Plots& plots) {
  TrainingPlots keys;
  for (size_t c = 0; c < drawn_columns().size(); ++c) {
    std::vector<Curve> curves;
    for (const TrainingRun& run : runs)
      if (run.curves[c].points.size() >= 2) curves.push_back(run.curves[c]);
    const DrawnColumn& column = drawn_columns()[c];
    keys.columns.push_back(
        plots.curves(curves, "seconds of training", column.axis, false, column.logarithmic));
  }
  for (const TrainingRun& run : runs) {
    keys.levels.push_back(level_plots(run, plots));
    const bool several = !run.stages.empty() && run.stages.front().points.size() >= 2;
    keys.stages.push_back(plots.curves(several ? run.stages : std::vector<Curve>(), "seconds of training",
                                       "share of the time, %", false, false));
    const bool long_enough = !run.terms.empty() && run.terms.front().points.size() >= 2;
    keys.terms.push_back(plots.curves(long_enough ? run.terms : std::vector<Curve>(), "seconds of training",
                                      "weighted terms of the loss", false, true));
  }
  return keys;
}

std::string training_html(const std::vector<TrainingRun>& runs, const TrainingPlots& keys,
                          const Plots& plots) {
  if (runs.empty()) return "";
  HtmlTable table("training_runs", {"run", "scene", "steps", "seconds", "ms a step", "M samples/s", "PSNR",
                                    "SSIM", "peak memory"});
  for (const TrainingRun& run : runs) {
    const json& r = run.result;
    const json score = r.value("score", json::object());
    const double steps = std::max(1.0, number(r, "steps"));
    const auto scored = [&](const char* key, const char* form) {
      return score.contains(key)
                 ? HtmlCell::number(number(score, key), fmt::format(fmt::runtime(form), number(score, key)))
                 : HtmlCell::text("not scored");
    };
    table.add({HtmlCell::text(run.name), HtmlCell::text(r.value("scene", "")),
               HtmlCell::number(number(r, "steps"), fmt::format("{:.0f}", number(r, "steps"))),
               HtmlCell::number(number(r, "seconds_training"),
                                fmt::format("{:.1f}", number(r, "seconds_training"))),
               HtmlCell::number(number(r, "seconds_training") / steps,
                                fmt::format("{:.1f}", 1e3 * number(r, "seconds_training") / steps)),
               HtmlCell::number(number(r, "samples_per_second"),
                                three_digits(number(r, "samples_per_second") * 1e-6)),
               scored("psnr", "{:.2f} dB"), scored("ssim", "{:.4f}"),
               HtmlCell::number(number(r, "peak_memory"),
                                fmt::format("{:.2f} GB", number(r, "peak_memory") * 1e-9))});
  }
  std::string html =
      "<section id=\"training\"><h2>Training</h2>\n" + table.html(false) + "<div class=\"plots\">\n";
  for (size_t c = 0; c < keys.columns.size(); ++c)
    if (const std::string svg = plots.svg(keys.columns[c]); !svg.empty())
      html +=
          fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, drawn_columns()[c].caption);
  html += "</div>\n";
  for (size_t i = 0; i < runs.size(); ++i) {
    const TrainingRun& run = runs[i];
    html += fmt::format("<h3>{}</h3>\n", escaped(run.name));
    const json score = run.result.value("score", json::object());
    if (const std::string protocol = score.value("protocol", ""); !protocol.empty())
      html += fmt::format("<p class=\"note\">{}</p>\n", escaped(protocol));
    html += memory_html(run) + means_html(run) + stages_html(run);
    for (const auto& [key, caption] : {std::pair{keys.stages[i], "Shares of the time of the largest stages."},
                                       std::pair{keys.terms[i],
                                                 "Terms of the loss, each with its weight: they add up to "
                                                 "the loss, but for the decay of weights."}})
      if (const std::string svg = plots.svg(key); !svg.empty())
        html += fmt::format("<figure>{}<figcaption>{}</figcaption></figure>\n", svg, caption);
    html += levels_html(run, keys.levels[i], plots, fmt::format("levels_{}", i)) + pictures_html(run) +
            (run.cameras ? cameras_html(*run.cameras) : "");
    if (run.result.contains("plan") && run.result["plan"].is_object()) {
      html += "<details><summary>the variants it trained with</summary><ul class=\"note\">";
      for (const auto& [op, variant] : run.result["plan"].items())
        html += "<li><code>" + escaped(variant.is_string() ? variant.get<std::string>() : variant.dump()) +
                "</code></li>";
      html += "</ul></details>\n";
    }
  }
  return html + "</section>\n";
}

}  // namespace klab
