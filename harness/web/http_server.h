// A server of HTTP on 127.0.0.1 for one page. It answers requests that name this host and carry its token, and nothing else:
// a page of another site, or another user of the machine, knows no token.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace klab {

/// A request that may be answered: the token is checked and no longer part of the path.
struct HttpRequest {
  std::string method;  // GET or POST
  std::string path;    // behind the token, without a slash: "", "state"
  std::map<std::string, std::string> query;
};

struct HttpReply {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string facts;  // JSON about a body of bytes, in one line: the header X-Klab
};

class HttpServer {
 public:
  static constexpr int kPorts = 20;  // tried, one after the other

  /// Throws std::runtime_error naming the package if klab was built without the library of the server.
  static void require_available();

  /// Listens on `port` of 127.0.0.1, or if it is in use on the next free one. `answer` is called by several threads at a time;
  /// what it throws becomes status 500. Throws std::runtime_error if no port is free or the system refuses them.
  HttpServer(int port, std::function<HttpReply(const HttpRequest&)> answer);
  /// Stops.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Ends, after the answers that are being made. A second call does nothing.
  void stop();

  int port() const;
  /// Returns the address with the token.
  std::string address() const;
  /// Returns the time that the processor spent on answers, in seconds.
  double processor_seconds() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace klab
