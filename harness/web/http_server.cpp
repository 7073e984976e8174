// The only file that includes cpp-httplib, which takes seconds to compile.
#include "harness/web/http_server.h"

#include <fmt/format.h>

#include <stdexcept>

#ifdef KLAB_HAVE_HTTPLIB
#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <thread>
#endif

namespace klab {

#ifndef KLAB_HAVE_HTTPLIB

struct HttpServer::Parts {};

void HttpServer::require_available() {
  throw std::runtime_error(
      "this klab was built without the server of pages: install libcpp-httplib-dev and build it again");
}
HttpServer::HttpServer(int, std::function<HttpReply(const HttpRequest&)>) { require_available(); }
HttpServer::~HttpServer() = default;
void HttpServer::stop() {}
int HttpServer::port() const { return 0; }
std::string HttpServer::address() const { return ""; }
double HttpServer::processor_seconds() const { return 0; }

#else

namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr size_t kThreads = 32;        // answers at a time; a browser keeps up to six connections
constexpr int kIdleSeconds = 1;        // that a connection may wait for its next request
constexpr int kTransferSeconds = 5;    // that a browser may let a transfer rest
constexpr size_t kMostBody = 1 << 16;  // bytes of a request

std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != ssize_t(bytes.size()))
    throw std::runtime_error("the system has no random numbers for the token of the page");
  std::string text;
  for (const unsigned char b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

/// Takes the same time for every text of the token's length, so that it cannot be guessed letter by letter.
bool same_text(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i) differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
  return differs == 0;
}

/// Returns 0 if the port can be listened on, else the system's error.
int refusal_of(int port) {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s < 0) return errno;
  const int yes = 1;
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(uint16_t(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int error = bind(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ? 0 : errno;
  if (error == 0 && listen(s, 1) != 0) error = errno;
  close(s);
  return error;
}

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

/// Keeps signals from the threads that are started while it lives: the thread that works handles them.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

struct HttpServer::Parts {
  httplib::Server server;
  std::function<HttpReply(const HttpRequest&)> answer;
  std::string token = new_token();
  int port = 0;
  std::atomic<bool> stopping{false}, ended{false};
  std::atomic<double> seconds{0};
  std::thread thread;

  bool bind(int wanted) { return server.bind_to_port(kHost, wanted); }
  bool names_this_host(const httplib::Request& request) const;
  void handle(const httplib::Request& request, httplib::Response& response);
  void run();
};

// The Host header is what a page of another site cannot forge after its name was pointed to this machine.
bool HttpServer::Parts::names_this_host(const httplib::Request& request) const {
  if (request.get_header_value_count("Host") != 1) return false;
  const std::string host = request.get_header_value("Host");
  const bool here = host == fmt::format("{}:{}", kHost, port) || host == fmt::format("localhost:{}", port) ||
                    (port == 80 && (host == kHost || host == "localhost"));
  const std::string origin = request.get_header_value("Origin");
  return here && (origin.empty() || origin == "http://" + host);
}

void HttpServer::Parts::handle(const httplib::Request& request, httplib::Response& response) {
  // Parts of answers are of no use here, and many of them would multiply an answer.
  const_cast<httplib::Request&>(request).ranges.clear();
  response.status = 403;  // without a body
  if (!names_this_host(request)) return;
  const std::string& path = request.path;
  const size_t end = std::min(path.find('/', 1), path.size());
  if (path.empty() || path[0] != '/' || !same_text(path.substr(1, end - 1), token)) return;
  response.status = 405;
  if (request.method != "GET" && request.method != "POST") return;
  response.status = 404;
  if (end == path.size()) return;  // addresses in the page are relative to the slash
  HttpRequest known{.method = request.method, .path = path.substr(end + 1), .query = {}};
  for (const auto& [name, value] : request.params) known.query.emplace(name, value);
  HttpReply reply;
  try {
    reply = answer(known);
  } catch (const std::exception& e) {
    reply = {.status = 500, .body = e.what(), .facts = ""};
  }
  response.status = reply.status;
  if (!reply.facts.empty()) response.set_header("X-Klab", reply.facts);
  if (!reply.body.empty()) response.set_content(reply.body, reply.type);
}

// The library ends on errors that pass, on a connection that was given up before it was taken for example.
void HttpServer::Parts::run() {
  while (!stopping) {
    server.listen_after_bind();
    for (bool bound = false; !stopping && !bound; bound = bind(port))
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ended = true;
}

void HttpServer::require_available() {}

HttpServer::HttpServer(int port, std::function<HttpReply(const HttpRequest&)> answer)
    : parts_(std::make_unique<Parts>()) {
  Parts& p = *parts_;
  p.answer = std::move(answer);
  p.server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  // The library's own options would let a second klab listen on the same port.
  p.server.set_socket_options([](socket_t s) {
    const int yes = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  p.server.set_keep_alive_max_count(1'000'000);
  p.server.set_keep_alive_timeout(kIdleSeconds);
  p.server.set_read_timeout(kTransferSeconds);
  p.server.set_write_timeout(kTransferSeconds);
  p.server.set_payload_max_length(kMostBody);
  p.server.set_tcp_nodelay(true);
  p.server.set_expect_100_continue_handler([](const httplib::Request&, httplib::Response&) { return 417; });
  p.server.set_default_headers({{"Cache-Control", "no-store"},
                                {"Referrer-Policy", "no-referrer"},
                                {"X-Content-Type-Options", "nosniff"},
                                {"Cross-Origin-Resource-Policy", "same-origin"},
                                {"Content-Security-Policy",
                                 "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                                 "img-src 'self' data: blob:; connect-src 'self'; frame-ancestors 'none'; "
                                 "base-uri 'none'; form-action 'none'"}});
  p.server.set_pre_routing_handler([&p](const httplib::Request& request, httplib::Response& response) {
    const double before = thread_seconds();
    p.handle(request, response);
    const double took = thread_seconds() - before;
    for (double sum = p.seconds; !p.seconds.compare_exchange_weak(sum, sum + took);) continue;
    return httplib::Server::HandlerResponse::Handled;
  });

  const int last = std::min(port + kPorts - 1, 65535);
  int error = 0;
  for (int tried = port; tried <= last && p.port == 0; ++tried) {
    error = refusal_of(tried);
    if (error == 0 && p.bind(tried)) p.port = tried;
    if (error != 0 && error != EADDRINUSE) break;
  }
  if (p.port == 0 && error != 0 && error != EADDRINUSE)
    throw std::runtime_error(fmt::format("port {} of {}: {}: give another one, from 1024 to 65535", port,
                                         kHost, std::strerror(error)));
  if (p.port == 0)
    throw std::runtime_error(
        fmt::format("ports {} to {} of {} are in use: give a free one", port, last, kHost));
  const WithoutSignals meanwhile;
  p.thread = std::thread([&p] { p.run(); });
}

HttpServer::~HttpServer() { stop(); }

void HttpServer::stop() {
  Parts& p = *parts_;
  if (!p.thread.joinable()) return;
  p.stopping = true;
  while (!p.ended) {
    p.server.stop();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  p.thread.join();
}

int HttpServer::port() const { return parts_->port; }
std::string HttpServer::address() const {
  return fmt::format("http://{}:{}/{}/", kHost, parts_->port, parts_->token);
}
double HttpServer::processor_seconds() const { return parts_->seconds; }

#endif

}  // namespace klab
