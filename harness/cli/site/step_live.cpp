#include "harness/cli/site/step_live.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/cli/command.h"
#include "harness/cli/site/site_assets.h"
#include "harness/cli/site/site_step.h"
#include "harness/cli/step_text.h"
#include "harness/core/source.h"
#include "harness/report/table.h"
#include "harness/step/process.h"
#include "harness/step/work_file.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kLive =
    R"(<section id="live" aria-live="polite"><h2 id="verdict">Your file</h2>
<p id="doing" class="note">waiting</p>
<p id="questions"></p>
<div id="said"></div>
<div id="counted"></div>
<div id="traced"></div>
</section>
)";

/// Returns the four questions with yes, no, or nothing where the answer is not known.
json questions_of(const Answer& a) {
  const auto yes_no = [](bool known, bool yes) { return known ? json(yes) : json(nullptr); };
  const bool wrong = a.outcome == Outcome::wrong || a.outcome == Outcome::no_variant;
  return {{{"question", "compiles"}, {"answer", a.compiles()}},
          {{"question", "right"}, {"answer", yes_no(a.right() || wrong, a.right())}},
          {{"question", "safe"}, {"answer", yes_no(a.safe() || (a.compiles() && !wrong), a.safe())}},
          {{"question", "faster"},
           {"answer", yes_no(a.safe() && a.speed.speed != Speed::not_asked && (a.counts || a.times),
                             a.speed.speed == Speed::enough)}}};
}

json counts_of(const Answer& a) {
  json lines = json::array();
  if (a.counts)
    for (const auto& l : a.counts->lines)
      lines.push_back({{"name", l.name},
                       {"parent", l.parent},
                       {"yours", l.yours},
                       {"goal", l.own},
                       {"good", l.reached && !l.worse},
                       {"bad", l.worse || (l.asked && !l.reached)}});
  return lines;
}

std::string type_of(const std::string& path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".png")) return "image/png";
  if (path.ends_with(".svg")) return "image/svg+xml";  // browsers show no picture of an unknown type
  return "application/octet-stream";
}

/// Shows the trace of a CUDA step's file. Another process runs the kernel, since it may loop or crash.
void trace_work(const Step& step, const Answer& a, const StepCheckOptions& o, LiveStep& page) {
  if (!step.cuda()) return page.traced("", "");
  if (!a.compiles() || a.outcome == Outcome::loops || a.outcome == Outcome::forbidden)
    return page.traced("", fmt::format("No trace of this file: {}.", name_of(a.outcome)));
  page.doing("tracing");
  const ScratchFolder folder;
  const fs::path file = folder.path() / "trace.html";
  const Ended ended =
      run_process({own_program().string(), "trace", step.name, "--html", file.string(), "--no-compiled"},
                  {.seconds = o.seconds}, {}, {}, {"NO_COLOR=1"});
  if (fs::exists(file)) return page.traced(read_text(file), "");
  page.traced("", ended.how == Ended::How::too_long
                      ? fmt::format("No trace of this file: it took more than {:.0f} s.", o.seconds)
                      : "No trace of this file: " + ended.words);
}

HttpReply html_reply(std::string text) {
  return {.type = "text/html; charset=utf-8", .body = std::move(text), .facts = ""};
}

}  // namespace

std::string without_colors(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 2, "\x1b[") == 0)
      at = std::min(text.find('m', at), text.size());
    else
      out += text[at];
  }
  return out;
}

LiveStep::LiveStep(const Step& step, int port)
    : step_(step),
      wanted_port_(port),
      site_({.title = "", .traced = {}, .threads = 1, .alone = true}),
      page_(step_page(step)),
      server_(port, [this](const HttpRequest& request) { return reply(request); }) {}

LiveStep::~LiveStep() { server_.stop(); }

std::string LiveStep::address() const {
  std::string text = server_.address();
  if (server_.port() != wanted_port_)
    text += fmt::format(" (port {} is in use: this is port {})", wanted_port_, server_.port());
  return text;
}

void LiveStep::doing(const std::string& stage) {
  const std::lock_guard lock(mutex_);
  doing_ = stage;
  ++version_;
}

void LiveStep::answered(const Answer& a, const std::string& text) {
  const json j = {{"outcome", name_of(a.outcome)}, {"passed", a.passed()},         {"good", a.good()},
                  {"said", without_colors(text)},  {"questions", questions_of(a)}, {"counts", counts_of(a)},
                  {"counted_at", a.counted_at}};
  const std::lock_guard lock(mutex_);
  answer_ = j.dump(-1, ' ', false, json::error_handler_t::replace);
  trace_.clear();
  no_trace_.clear();
  doing_ = "waiting for the next save";
  ++version_, ++traces_;
}

void LiveStep::traced(std::string page, const std::string& why_none) {
  const std::lock_guard lock(mutex_);
  trace_ = std::move(page);
  no_trace_ = why_none;
  doing_ = "waiting for the next save";
  ++version_, ++traces_;
}

HttpReply LiveStep::state() const {
  const json j = {{"version", version_},
                  {"doing", doing_},
                  {"answer", answer_.empty() ? json(nullptr) : json::parse(answer_)},
                  {"trace", trace_.empty() ? json(nullptr) : json(traces_)},
                  {"no_trace", no_trace_}};
  return {.type = "application/json",
          .body = j.dump(-1, ' ', false, json::error_handler_t::replace),
          .facts = ""};
}

HttpReply LiveStep::reply(const HttpRequest& request) {
  if (request.method != "GET") return {.status = 405, .body = "", .facts = ""};
  const std::lock_guard lock(mutex_);
  const std::string& path = request.path;
  if (path.empty())
    return html_reply(fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>klab step {0}</title><link "
        "rel=\"icon\" href=\"data:,\"><meta http-equiv=\"refresh\" content=\"0; url={1}\"></head><body><a "
        "href=\"{1}\">step "
        "{0}</a></body></html>\n",
        step_.name, page_));
  if (path == "state") return state();
  if (path == "trace")
    return trace_.empty() ? HttpReply{.status = 404, .body = "no trace", .facts = ""} : html_reply(trace_);
  if (path == page_)
    return html_reply(
        site_.step_file(step_, kLive, fmt::format("<script>\n{}</script>\n", step_live_script())));
  if (!site_.has(path)) return {.status = 404, .body = "no such page", .facts = ""};
  return {.type = type_of(path), .body = site_.file(path), .facts = ""};
}

int serve_step(const Step& step, const StepCheckOptions& o, int port) {
  HttpServer::require_available();
  start_work(step);
  LiveStep page(step, port);
  const std::string at = "page      " + page.address() + "\n";
  fmt::print("{}file      {}\n", at, work_path(step).string());
  std::fflush(stdout);
  on_every_save(step, [&] {
    if (paper().terminal) fmt::print("{}", at);
    const Answer a = answered_work(step, o, [&](const std::string& stage) { page.doing(stage); });
    page.answered(a, answer_text(step, a));
    trace_work(step, a, o, page);
  });
  return exit_ok;
}

}  // namespace klab
