#include "harness/cli/site/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "harness/check/cases.h"
#include "harness/cli/markdown.h"
#include "harness/cli/site/site_ladders.h"
#include "harness/cli/site/site_step.h"
#include "harness/cli/trace_pictures.h"
#include "harness/cli/trace_text.h"
#include "harness/core/build_info.h"
#include "harness/core/project_info.h"
#include "harness/core/source.h"
#include "harness/records/input.h"
#include "harness/report/html_parts.h"
#include "harness/simt/gpus.h"
#include "harness/step/lesson.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostPicture = 20'000'000;  // bytes

constexpr std::pair<const char*, const char*> kNavigation[] = {
    {"Lessons", "lessons/index.html"}, {"Steps", "steps/index.html"}, {"Ladders", "ladders/index.html"},
    {"Traces", "traces/index.html"},   {"Glossary", "glossary.html"}, {"Docs", "docs/index.html"}};

/// Returns the first heading of a page, without markup.
std::string first_heading(const std::string& markdown, const std::string& otherwise) {
  std::istringstream in(markdown);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("# ")) {
      std::erase(line, '`');
      return line.substr(2);
    }
  return otherwise;
}

/// Returns a heading's first word: the name of a rung, if it is a rung's.
std::string heading_name(const std::string& heading) {
  return heading.substr(0, heading.find_first_of(":, "));
}

/// Returns the subfolders of a folder of the tree that have a README.md, in order.
std::vector<std::string> readmes_below(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(source_root() / folder, error))
    if (fs::is_regular_file(entry.path() / "README.md")) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> markdown_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(source_root() / folder, error))
    if (entry.path().extension() == ".md") names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

const Lab* lab_called(const std::string& id) {
  const auto at = std::ranges::find(labs(), id, &Lab::id);
  return at == labs().end() ? nullptr : &*at;
}

/// Returns text without repeated white space, for the search.
std::string in_one_line(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string word; in >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

bool is_outside(const std::string& target) {
  return target.starts_with("http://") || target.starts_with("https://") || target.starts_with("mailto:");
}

bool is_backward(const Variant& v) {
  const LabOp* op = find_op(v.op);
  return op != nullptr && !op->op.forward.empty();
}

}  // namespace

Site::Site(SiteOptions options) : options_(std::move(options)) {
  const fs::path root = source_root();
  if (root.empty())
    throw std::runtime_error(
        "klab's lessons and docs are not next to this program: set KLAB_ROOT to klab's folder");
  frame_.site = options_.title.empty() ? project_info().name : options_.title;
  frame_.alone = options_.alone;
  const std::string commit = project_info().commit.empty() ? build_info().commit : project_info().commit;
  frame_.made =
      fmt::format("Made by {} site from commit {}. Times belong to the machines named next to them.",
                  project_info().name, commit);
  add_sources();
  add_labs();
  if (!options_.alone) {
    add("site.css", site_css);
    add("site.js", site_js);
    add("search.html", [this] { return search_page(); });
    add("search-index.js", [this] { return search_index(); });
    add(".nojekyll", [] { return std::string(); });  // GitHub Pages serves the files as they are
  }
  frame_.search = has("search.html");
  for (const auto& [text, path] : kNavigation)
    if (has(path)) frame_.nav.emplace_back(text, path);
}

Site::~Site() = default;

void Site::add(const std::string& path, std::function<std::string()> make) {
  if (makers_.emplace(path, std::move(make)).second) paths_.push_back(path);
}

void Site::add_source(const std::string& file, const std::string& path, const Lab* lab) {
  const fs::path at = source_root() / file;
  if (!fs::is_regular_file(at)) return;
  auto source = std::make_unique<Source>();
  source->file = file;
  source->path = path;
  source->lab = lab;
  source->title = lab != nullptr ? lab->id.substr(0, 2) + " " + lab->title
                                 : first_heading(read_text(at), fs::path(path).stem().string());
  Source* const known = sources_.emplace_back(std::move(source)).get();
  by_file_[file] = known;
  add(path, [this, known] { return source_page(*known); });
}

void Site::add_sources() {
  add_source("README.md", "index.html");
  if (!has("index.html"))
    add("index.html", [this] {
      return framed_page("index.html", frame_.site, {},
                         "<h1>" + escaped(frame_.site) + "</h1>\n" + home_cards());
    });
  add_source("labs/README.md", "lessons/index.html");
  for (const std::string& lab : readmes_below("labs"))
    add_source(lesson_path(lab), lesson_page(lab), lab_called(lab));
  for (const std::string& name : markdown_files("docs"))
    if (name != "glossary.md") add_source("docs/" + name, "docs/" + fs::path(name).stem().string() + ".html");
  add_source("CONTRIBUTING.md", "docs/contributing.html");
  for (const std::string& name : readmes_below("examples"))
    add_source("examples/" + name + "/README.md", "docs/example_" + name + ".html");
  for (const std::string& name : readmes_below("reports/recorded"))
    add_source("reports/recorded/" + name + "/README.md", "machines/" + name + ".html");
  if (sources_.empty())
    throw std::runtime_error(source_root().string() +
                             ": holds no README.md, lessons or docs to make a site of");
  const bool docs = std::ranges::any_of(sources_, [](const auto& s) { return s->path.starts_with("docs/"); });
  if (docs) add("docs/index.html", [this] { return list_of_docs(); });
  if (const fs::path file = source_root() / "docs/glossary.md"; fs::is_regular_file(file)) {
    glossary_ = glossary_in(read_text(file));
    add("glossary.html", [this] { return glossary_page(); });
  }
  // Pictures that pages show lie next to the pages.
  for (const auto& source : sources_) {
    const std::string text = read_text(source_root() / source->file);
    for (size_t at = text.find("!["); at != text.npos; at = text.find("![", at + 2)) {
      const size_t begin = text.find("](", at), end = text.find(')', at);
      if (begin == text.npos || end == text.npos || end < begin) continue;
      const std::string target = text.substr(begin + 2, end - begin - 2);
      const std::string file = (fs::path(source->file).parent_path() / target).lexically_normal().string();
      if (is_outside(target) || file.starts_with("..") || !fs::is_regular_file(source_root() / file))
        continue;
      std::string name = file;
      std::ranges::replace(name, '/', '_');
      pictures_[file] = "pictures/" + name;
      add("pictures/" + name, [file] { return read_input(source_root() / file, kMostPicture); });
    }
  }
}

void Site::add_labs() {
  if (!steps().empty()) add("steps/index.html", [this] { return list_of_steps(); });
  for (const Step& step : steps()) add(step_page(step), [this, &step] { return step_file(step, "", ""); });
  if (!labs().empty()) add("ladders/index.html", [this] { return list_of_ladders(); });
  for (const Lab& lab : labs())
    if (!lab.ops.empty()) add(ladder_page(lab.id), [this, &lab] { return lab_page(lab); });
  if (!options_.traced.empty()) add("traces/index.html", [this] { return list_of_traces(); });
  // Rungs that are parent or goal of a step have pictures.
  std::set<const Variant*> drawn;
  for (const Step& step : steps())
    if (step.cuda()) drawn.insert({step.parent, step.own});
  for (const Variant* v : options_.traced) {
    add(trace_page_of(*v), [this, v] { return traced_page(*v); });
    if (drawn.contains(v)) add(trace_sheet_of(*v), [this, v] { return traced(*v).sheet; });
  }
}

/// Returns the address of a link in a source, as seen from a page; empty if it leads to a file that is no page.
std::string Site::address(const std::string& from, const std::string& target,
                          const std::string& source) const {
  if (is_outside(target) || target.starts_with("#")) return target;
  const size_t mark = target.find('#');
  const std::string anchor = mark == target.npos ? "" : target.substr(mark);
  std::string file = (fs::path(source).parent_path() / target.substr(0, mark)).lexically_normal().string();
  while (file.ends_with("/")) file.pop_back();
  if (file == "docs/glossary.md" && has("glossary.html"))
    return relative_address(from, "glossary.html") + anchor;
  for (const std::string& name : {file, file + "/README.md"})
    if (const auto at = by_file_.find(name); at != by_file_.end())
      return relative_address(from, at->second->path) + anchor;
  return "";
}

std::string Site::picture(const std::string& from, const std::string& target,
                          const std::string& source) const {
  const auto at = pictures_.find((fs::path(source).parent_path() / target).lexically_normal().string());
  return at == pictures_.end() || !has(at->second) ? "" : relative_address(from, at->second);
}

/// Returns the lesson with the code of its rungs folded; any other source as it is.
const Site::Source& Site::rendered_source(Source& source) {
  if (source.page != nullptr) return source;
  std::string text = read_text(source_root() / source.file);
  if (source.lab != nullptr) text = with_code_folded(text, answers_of(*source.lab));
  GlossaryLinks links(glossary_, relative_address(source.path, "glossary.html"));
  bool first = true;
  const PageSurroundings around = {
      .link = [&](const std::string& to) { return address(source.path, to, source.file); },
      .picture = [&](const std::string& file) { return picture(source.path, file, source.file); },
      .text = [&](const std::string& words, bool emphasized) { return links.html(words, emphasized); },
      .behind_heading = [&](const std::string& heading) { return behind_heading(source, heading, first); }};
  source.page = std::make_unique<RenderedPage>(rendered(text, around));
  source.terms = links.linked();
  return source;
}

/// Returns the links below a lesson's title, and below the heading of a rung.
std::string Site::behind_heading(const Source& source, const std::string& heading, bool& first) {
  if (source.lab == nullptr) return "";
  const Lab& lab = *source.lab;
  const auto to = [&](const std::string& path) { return relative_address(source.path, path); };
  if (first) {
    first = false;
    std::string html = linked(to("lessons/index.html"), "The path");
    if (!has("lessons/index.html")) html.clear();
    const auto also = [&](const std::string& link) { html += (html.empty() ? "" : " · ") + link; };
    if (!steps_of(lab).empty()) also(linked(to("steps/index.html#" + lab.id), "steps of this lab"));
    if (has(ladder_page(lab.id))) also(linked(to(ladder_page(lab.id)), "ladders"));
    return html.empty() ? "" : "<p class=\"links\">" + html + "</p>\n";
  }
  const std::string name = heading_name(heading);
  if (name.find('_') == name.npos) return "";
  const bool backward = heading.find("backward") != heading.npos;
  std::string html;
  for (const Step* step : steps_of(lab)) {
    const Variant& v = *step->own;
    if (v.id != name && section_name(v) != name) continue;
    if (backward && !is_backward(v)) continue;
    html += (html.empty() ? "" : " · ") + linked(to(step_page(*step)), "step " + escaped(step->name));
    if (has(trace_page_of(v))) html += ", " + linked(to(trace_page_of(v)), "its trace");
  }
  return html.empty() ? "" : "<p class=\"links\">" + html + "</p>\n";
}

/// Returns the address of a rung's section. As in lessons of steps, the id comes before the name that rungs of several operations
/// share, and a backward rung's heading says so.
std::string Site::section(const std::string& from, const Variant& variant) {
  const Lab* lab = lab_of(variant.op);
  const auto at = lab == nullptr ? by_file_.end() : by_file_.find(lesson_path(lab->id));
  if (at == by_file_.end()) return "";
  const PageHeading* best = nullptr;
  int best_fit = 0;
  for (const PageHeading& h : rendered_source(*at->second).page->headings) {
    const std::string name = heading_name(h.text);
    if (h.level != 2 || (name != variant.id && name != section_name(variant))) continue;
    const bool backward = h.text.find("backward") != h.text.npos;
    const int fit = 1 + (name == variant.id ? 4 : 0) + (backward == is_backward(variant) ? 2 : 0);
    if (fit > best_fit) best = &h, best_fit = fit;
  }
  return best == nullptr ? "" : relative_address(from, at->second->path) + "#" + best->id;
}

PageContext Site::context(const std::string& path) {
  // One for the page, whose pieces are rendered one after the other.
  const auto links = std::make_shared<GlossaryLinks>(glossary_, relative_address(path, "glossary.html"));
  return {.records = records_,
          .to = [this, path](const std::string& to) { return has(to) ? relative_address(path, to) : ""; },
          .render =
              [this, path, links](const std::string& markdown, const std::string& source) {
                return rendered(
                    markdown,
                    {.link =
                         [&](const std::string& to) {
                           // An anchor of the lesson is none of this page.
                           const auto lesson = by_file_.find(source);
                           if (to.starts_with("#"))
                             return lesson == by_file_.end()
                                        ? std::string()
                                        : relative_address(path, lesson->second->path) + to;
                           return address(path, to, source);
                         },
                     .picture = [&](const std::string& file) { return picture(path, file, source); },
                     .text = [&](const std::string& words,
                                 bool emphasized) { return links->html(words, emphasized); },
                     .behind_heading = {}});
              },
          .section = [this, path](const Variant& v) { return section(path, v); }};
}

std::string Site::framed_page(const std::string& path, const std::string& title,
                              const std::vector<PageHeading>& headings, const std::string& content,
                              const std::string& extra) const {
  return framed(frame_, path, title, headings, content, extra);
}

std::string Site::source_page(Source& source) {
  const RenderedPage& page = *rendered_source(source).page;
  const bool home = source.path == "index.html";
  return framed_page(source.path, home ? frame_.site : source.title, page.headings,
                     (home ? home_cards() : "") + page.html);
}

std::string Site::home_cards() const {
  std::string cards;
  const auto card = [&](const char* path, const char* title, const std::string& text) {
    if (has(path))
      cards += fmt::format("<a href=\"{}\"><b>{}</b><span>{}</span></a>\n", path, title, escaped(text));
  };
  card("lessons/index.html", "Lessons",
       fmt::format("{} labs, in an order in which each needs only those before", labs().size()));
  card("steps/index.html", "Steps",
       fmt::format("{} rungs as exercises: text, the lines to change, the goal", steps().size()));
  card("ladders/index.html", "Ladders", "every rung with its recorded times, on named machines");
  card("traces/index.html", "Traces", "what CUDA rungs move, line by line");
  card("glossary.html", "Glossary", fmt::format("{} words, and where lessons use them", glossary_.size()));
  card("docs/index.html", "Docs", "commands, measuring, files, architecture");
  return cards.empty() ? "" : "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string Site::list_of_docs() {
  std::string docs, machines;
  for (const auto& source : sources_) {
    const std::string item =
        "<li>" + linked(relative_address("docs/index.html", source->path), escaped(source->title)) +
        "</li>\n";
    if (source->path.starts_with("docs/")) docs += item;
    if (source->path.starts_with("machines/")) machines += item;
  }
  if (has("glossary.html")) docs += "<li><a href=\"../glossary.html\">Glossary</a></li>\n";
  return framed_page(
      "docs/index.html", "Docs", {},
      "<h1>Docs</h1>\n<ul>\n" + docs + "</ul>\n" +
          (machines.empty() ? ""
                            : "<h2 id=\"machines\">Recorded machines</h2>\n<ul>\n" + machines + "</ul>\n"));
}

std::string Site::list_of_steps() {
  std::vector<PageHeading> headings = {{1, "Steps", ""}};
  std::string html =
      "<h1>Steps</h1>\n<p>A step is one rung of a ladder, which you make yourself from the rung below it: "
      "<code>klab step 03.02</code> begins one, <code>klab step --watch 03.02</code> judges your file "
      "whenever "
      "it is saved.</p>\n";
  const PageContext page = context("steps/index.html");
  for (const Lab& lab : labs()) {
    const auto list = steps_of(lab);
    if (list.empty()) continue;
    headings.push_back({2, lab.id.substr(0, 2) + " " + lab.title, lab.id});
    html += fmt::format("<h2 id=\"{}\">{}</h2>\n<p class=\"links\">{} · {}</p>\n<ul>\n", lab.id,
                        escaped(lab.id.substr(0, 2) + " " + lab.title),
                        linked(page.to(lesson_page(lab.id)), "lesson"),
                        linked(page.to(ladder_page(lab.id)), "ladders"));
    for (const Step* step : list) {
      const std::string title = lesson_of(*step).title;
      html += fmt::format("<li><a href=\"{0}.html\">{0}</a> {1}</li>\n", step->name,
                          escaped(title.empty() ? step->own->rung : title));
    }
    html += "</ul>\n";
  }
  return framed_page("steps/index.html", "Steps", headings, html);
}

std::string Site::list_of_ladders() {
  std::string html = "<h1>Ladders</h1>\n<p>Each operation's rungs with their recorded times.</p>\n<ul>\n";
  for (const Lab& lab : labs()) {
    if (lab.ops.empty()) continue;
    std::string ops;
    for (const LabOp& op : lab.ops)
      ops += fmt::format("{}<a href=\"{}.html#{}\"><code>{}</code></a>", ops.empty() ? "" : ", ", lab.id,
                         op.op.name, op.op.name);
    html += fmt::format("<li><a href=\"{}.html\">{} {}</a>: {}</li>\n", lab.id, lab.id.substr(0, 2),
                        escaped(lab.title), ops);
  }
  return framed_page("ladders/index.html", "Ladders", {}, html + "</ul>\n");
}

std::string Site::list_of_traces() {
  std::string html =
      "<h1>Traces</h1>\n<p>Every memory access of a CUDA rung, counted line by line while the host runs its "
      "threads. No GPU is needed, and the counts are the same on every machine.</p>\n<ul>\n";
  for (const Variant* v : options_.traced)
    html += fmt::format("<li><a href=\"{0}.html\"><code>{0}</code></a></li>\n", v->id);
  return framed_page("traces/index.html", "Traces", {}, html + "</ul>\n");
}

std::string Site::lab_page(const Lab& lab) {
  if (ladders_ == nullptr) ladders_ = std::make_unique<SiteLadders>(records_);
  const std::string path = ladder_page(lab.id);
  std::vector<PageHeading> headings;
  const std::string html = ladders_->html(lab, context(path), headings);
  return framed_page(path, "Ladders: " + lab.title, headings, html);
}

std::string Site::step_file(const Step& step, const std::string& live, const std::string& extra) {
  const std::string path = step_page(step);
  return framed_page(path, step_title(step), {}, step_html(step, context(path), live), extra);
}

const Site::Traced& Site::traced(const Variant& variant) {
  if (traced_.variant == &variant) return traced_;
  const LabOp& op = *find_op(variant.op);
  TraceView view{.op = &op,
                 .variant = &variant,
                 .run = {},
                 .hints = {},
                 .no_resources = {},
                 .local = {},
                 .pictures = {}};
  std::optional<simt::Recording> recording;
  if (has(trace_sheet_of(variant))) recording.emplace();
  view.run = count_run(op, variant, shape_of_recorded_counts(op), 1, nullptr, options_.threads);
  std::string sheet;
  if (recording) {
    recording->finish();
    std::vector<std::string> left_out;
    const std::string title = fmt::format("Trace of {} at {}", variant.id, shape_text(op.op, view.run.shape));
    sheet = picture_sheet(title,
                          trace_pictures({.op = &op, .run = &view.run, .recording = &*recording}, left_out));
  }
  view.run.no_compiled = "the site counts kernels as they are written";
  kernel_resources(&view.no_resources);
  const std::string path = trace_page_of(variant);
  const PageContext page = context(path);
  std::string links = linked(page.section(variant), "its section in the lesson");
  const auto step = std::ranges::find(steps(), &variant, &Step::own);
  if (step != steps().end())
    links += " · " + linked(page.to(step_page(*step)), "step " + escaped(step->name));
  std::string html = fmt::format(
      "<p class=\"where\"><a href=\"index.html\">Traces</a></p>\n<h1><code>{}</code></h1>\n<p "
      "class=\"links\">{}</p>\n<p class=\"note\">{}; seed {}; run on the host, every access watched, within "
      "the limits of {}. <code>klab trace {}</code> adds hints.</p>\n",
      escaped(variant.id), links, escaped(shape_text(op.op, view.run.shape)), view.run.seed,
      simt::named_gpu().name, escaped(variant.id));
  for (const simt::Finding& f : view.run.findings)
    html += "<p class=\"bad\">" + escaped(f.describe()) + "</p>\n";
  if (!view.run.error.empty()) html += "<p class=\"bad\">" + escaped(view.run.error) + "</p>\n";
  html += sheet_figure(page, variant, "Drawn from what the executor recorded.") + trace_html_tables(view);
  traced_ = {&variant, std::move(html), std::move(sheet)};
  return traced_;
}

std::string Site::traced_page(const Variant& variant) {
  return framed_page(trace_page_of(variant), "Trace of " + variant.id, {}, traced(variant).html);
}

/// Returns the words with their meanings, and the lessons and docs that use them: each link leads to the word there.
std::string Site::glossary_page() {
  std::string html = "<h1>Glossary</h1>\n<dl class=\"glossary\">\n";
  for (const GlossaryEntry& e : glossary_) {
    std::string lessons, docs;
    for (const auto& source : sources_) {
      if (!rendered_source(*source).terms.contains(e.id)) continue;
      std::string& list = source->lab != nullptr ? lessons : docs;
      list += fmt::format("{}<a href=\"{}#{}\">{}</a>", list.empty() ? "" : ", ", source->path, term_id(e.id),
                          escaped(source->title));
    }
    const RenderedPage meaning = rendered(
        e.meaning,
        {.link = [&](const std::string& to) { return address("glossary.html", to, "docs/glossary.md"); },
         .picture = {},
         .text = {},
         .behind_heading = {}});
    html += fmt::format("<dt id=\"{}\">{}</dt>\n<dd>{}", e.id, escaped(e.word), meaning.html);
    if (!lessons.empty()) html += "<p class=\"uses\">Lessons: " + lessons + "</p>\n";
    if (!docs.empty()) html += "<p class=\"uses\">Pages: " + docs + "</p>\n";
    html += "</dd>\n";
  }
  return framed_page("glossary.html", "Glossary", {}, html + "</dl>\n");
}

std::string Site::search_page() const {
  return framed_page(
      "search.html", "Search", {},
      "<h1>Search</h1>\n<p class=\"search\"><input type=\"search\" id=\"query\" aria-label=\"search\"> <span "
      "id=\"count\" class=\"dim\"></span></p>\n<noscript><p>The search needs scripts: the index is a file of "
      "this site, and nothing is asked of a server.</p></noscript>\n<ol id=\"found\"></ol>\n",
      "<script defer src=\"search-index.js\"></script>\n");
}

/// Returns the places that can be found: sections of lessons and docs, words, steps, operations. Code of rungs and folded answers
/// are left out.
std::string Site::search_index() {
  nlohmann::json index = nlohmann::json::array();
  for (const auto& source : sources_)
    for (const PageSection& s : rendered_source(*source).page->sections) {
      const std::string text = in_one_line(s.text);
      if (text.empty() && s.heading.empty()) continue;
      index.push_back({source->path + (s.id.empty() ? "" : "#" + s.id), source->title, s.heading, text});
    }
  for (const GlossaryEntry& e : glossary_)
    index.push_back({"glossary.html#" + e.id, "Glossary", e.word, e.meaning});
  for (const Step& step : steps()) {
    const fs::path file = source_root() / source_path(*step.own);
    std::string text;
    if (fs::exists(file))
      for (const auto& [key, value] : header_of(read_text(file)))
        if (key == "CHANGE" || key == "EXPECT") text += (text.empty() ? "" : " ") + value;
    index.push_back({step_page(step), step_title(step), step.own->id, in_one_line(text)});
  }
  for (const Lab& lab : labs())
    for (const LabOp& op : lab.ops) {
      std::string rungs;
      for (const Variant* v : variants_of(op.op.name)) rungs += (rungs.empty() ? "" : " ") + v->id;
      index.push_back({ladder_page(lab.id) + "#" + op.op.name, "Ladders", op.op.name, rungs});
    }
  // A line each, so that a change of a page changes the lines of that page.
  std::string text = "// Made by klab site: the places that search.html finds.\nconst klabIndex = [\n";
  for (const auto& entry : index)
    text += entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + ",\n";
  return text + "];\n";
}

}  // namespace klab
