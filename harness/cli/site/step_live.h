// The page of `klab step --page`: a step's page of the site on 127.0.0.1, with the answer about the learner's file in it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "harness/cli/site/site.h"
#include "harness/cli/step_actions.h"
#include "harness/step/answer.h"
#include "harness/web/http_server.h"

namespace klab {

inline constexpr int kStepPort = 7107;  // unless another one is given

class LiveStep {
 public:
  /// Listens on `port`, or the next free one. Throws std::runtime_error if this klab was built without the server, or no port is
  /// free.
  LiveStep(const Step& step, int port);
  ~LiveStep();
  LiveStep(const LiveStep&) = delete;
  LiveStep& operator=(const LiveStep&) = delete;

  /// Returns the address, with a note if another port was taken.
  std::string address() const;

  /// Shows what is being done about the file that was saved last.
  void doing(const std::string& stage);
  /// Shows an answer. `text` is that of the terminal.
  void answered(const Answer& answer, const std::string& text);
  /// Shows the page that `klab trace` wrote about the file; if it is empty, why there is none.
  void traced(std::string page, const std::string& why_none);

 private:
  HttpReply reply(const HttpRequest& request);
  HttpReply state() const;

  const Step& step_;
  int wanted_port_;
  mutable std::mutex mutex_;  // over all below; pages are made one at a time
  Site site_;
  std::string page_;  // path of the step's page
  int64_t version_ = 0, traces_ = 0;
  std::string doing_ = "waiting for the first save";
  std::string answer_;  // JSON of the last answer; empty: none yet
  std::string trace_, no_trace_;
  HttpServer server_;  // last: it answers as soon as it is there
};

/// Writes the work file if there is none, and shows text, answers and traces of its file as a page, whose address it prints, until
/// interrupted. Returns the exit code. Throws what LiveStep throws.
int serve_step(const Step& step, const StepCheckOptions& options, int port);

/// Returns text without the terminal's colors.
std::string without_colors(const std::string& text);

}  // namespace klab
