// The only file that includes cpp-httplib, which takes seconds to compile.
#include "harness/web/http_server.h"

#include <fmt/format.h>

#include <stdexcept>

#ifdef KLAB_HAVE_HTTPLIB
#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string_view>
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

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* kHost = "127.0.0.1";
constexpr size_t kThreads = 32;      // answers at a time; a browser keeps up to six connections
constexpr size_t kMostWaiting = 64;  // connections that wait for a thread
constexpr auto kIdle = 1s;           // that a connection may wait for its next request
constexpr auto kRequestTime = 10s;   // from the first byte of a request to the last
constexpr auto kTransferRest = 5s;   // that a browser may let a transfer rest
constexpr auto kLastWords = 300ms;   // that a browser has to read an answer before its connection is closed
constexpr auto kStopEvery = 50ms;    // how often a waiting thread asks whether the server stops
constexpr size_t kMostRequest = 1 << 16;  // bytes of a request

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

/// A connection on which a request has limits in bytes and time. The library reads heads and lines of any length, and waits for every
/// byte as long as for the first: a stranger without a token could fill the memory, or hold a thread for ever.
class Connection : public httplib::Stream {
 public:
  Connection(socket_t taken, const std::atomic<bool>& stopping) : socket_(taken), stopping_(stopping) {}

  /// Waits for a request. Returns false if none begins in time.
  bool begin_request() {
    left_ = kMostRequest;
    status_ = 0;
    if (begin_ == end_ && !waits(POLLIN, Clock::now() + kIdle)) return false;
    until_ = Clock::now() + kRequestTime;
    return true;
  }
  /// Returns whether the request was cut off or its answer is an error: the bytes that follow may be no request.
  bool is_spoiled() const { return cut_ || status_ >= 400; }
  /// Says that no answer follows and lets the browser read the last one: what was sent and is unread when a socket is closed
  /// would cost it that.
  void end() {
    shutdown(socket_, SHUT_WR);
    left_ = kMostRequest;
    until_ = Clock::now() + kLastWords;
    while (left_ > 0 && fill()) left_ -= std::min(left_, end_);
    close(socket_);
  }

  bool is_readable() const override { return begin_ != end_ || waits(POLLIN, until_); }
  bool is_writable() const override { return waits(POLLOUT, Clock::now() + kTransferRest); }
  ssize_t read(char* to, size_t size) override {
    if (begin_ == end_ && !fill()) return cut_ ? -1 : 0;
    size = std::min({size, end_ - begin_, left_});
    if (size == 0) cut_ = true;
    if (cut_) return -1;
    std::copy_n(buffer_.begin() + std::ptrdiff_t(begin_), size, to);
    begin_ += size;
    left_ -= size;
    return ssize_t(size);
  }
  ssize_t write(const char* from, size_t size) override {
    constexpr std::string_view kBegins = "HTTP/1.1 ";
    if (status_ == 0 && size > kBegins.size() + 3 && std::string_view(from, kBegins.size()) == kBegins)
      status_ = std::atoi(std::string(from + kBegins.size(), 3).c_str());
    for (size_t sent = 0; sent < size;) {
      if (!is_writable()) return -1;
      const ssize_t n = send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n < 0) return -1;
      sent += size_t(n);
    }
    return ssize_t(size);
  }
  // Where a request comes from decides nothing: all are of this machine.
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip = kHost, port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip = kHost, port = 0; }
  socket_t socket() const override { return socket_; }

 private:
  /// Waits for what poll() names. A server that stops waits for no more requests, and sends the answers that were made.
  bool waits(short what, Clock::time_point until) const {
    for (pollfd one{socket_, what, 0}; what == POLLOUT || !stopping_;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
      if (left < 0ms) return false;
      const int ready =
          poll(&one, 1, int(std::min(left + 1ms, std::chrono::milliseconds(kStopEvery)).count()));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
    return false;
  }
  /// Returns false at the end of what the browser sends, and sets cut_ if that was not its end.
  bool fill() {
    begin_ = end_ = 0;
    if (!waits(POLLIN, until_)) {
      cut_ = true;
      return false;
    }
    const ssize_t n = recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (n > 0) end_ = size_t(n);
    if (n < 0) cut_ = true;
    return n > 0;
  }

  socket_t socket_;
  const std::atomic<bool>& stopping_;
  std::array<char, 4096> buffer_{};
  size_t begin_ = 0, end_ = 0;  // of what was received and not read
  size_t left_ = 0;             // bytes that the request may still have
  Clock::time_point until_{};   // when it has to be there
  int status_ = 0;              // of its answer; 0: none yet
  bool cut_ = false;            // it was too long or too slow, or the connection broke
};

/// Threads that answer. Where too many connections wait for one, no more are accepted: each is an open file, of which the process
/// may have few.
class BoundedQueue : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> work) override {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return waiting_ < kMostWaiting; });
    ++waiting_;
    threads_.enqueue([this, work = std::move(work)] {
      {
        const std::lock_guard begins(mutex_);
        --waiting_;
      }
      room_.notify_one();
      work();
    });
  }
  void shutdown() override { threads_.shutdown(); }

 private:
  std::mutex mutex_;
  std::condition_variable room_;
  size_t waiting_ = 0;
  httplib::ThreadPool threads_{kThreads};
};

/// The library's server on such connections.
class BoundedServer : public httplib::Server {
 public:
  std::atomic<bool> stopping{false};

 private:
  bool process_and_close_socket(socket_t taken) override {
    Connection connection(taken, stopping);
    bool good = true, last = false, with_body = false;
    // Bodies are of no use here and are not read, so no request can follow one.
    const auto close_after_body = [&](httplib::Request& request) {
      with_body = request.has_header("Transfer-Encoding") ||
                  (request.has_header("Content-Length") && request.get_header_value("Content-Length") != "0");
      if (!with_body) return;
      request.headers.erase("Connection");
      request.set_header("Connection", "close");
    };
    try {
      while (good && !last && !with_body && !connection.is_spoiled() && connection.begin_request())
        good = process_request(connection, false, last, close_after_body);
    } catch (const std::exception&) {  // of this connection alone
      good = false;
    }
    connection.end();
    return good;
  }
};

}  // namespace

struct HttpServer::Parts {
  BoundedServer server;
  std::function<HttpReply(const HttpRequest&)> answer;
  std::string token = new_token();
  int port = 0;
  std::atomic<bool> ended{false};
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
  while (!server.stopping) {
    server.listen_after_bind();
    for (bool bound = false; !server.stopping && !bound; bound = bind(port))
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ended = true;
}

void HttpServer::require_available() {}

HttpServer::HttpServer(int port, std::function<HttpReply(const HttpRequest&)> answer)
    : parts_(std::make_unique<Parts>()) {
  Parts& p = *parts_;
  p.answer = std::move(answer);
  p.server.new_task_queue = [] { return new BoundedQueue; };
  // The library's own options would let a second klab listen on the same port.
  p.server.set_socket_options([](socket_t s) {
    const int yes = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  p.server.set_keep_alive_max_count(1'000'000);  // this and the next are what answers tell browsers
  p.server.set_keep_alive_timeout(std::chrono::seconds(kIdle).count());
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
  p.server.stopping = true;
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
