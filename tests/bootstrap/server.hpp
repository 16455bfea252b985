// A small HTTP server of the tests' own, on the loopback: each path has a handler, which may answer
// well or badly, and every request is kept.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bootstrap_tests {

struct HttpRequest {
  std::string target;                          // as in the first line
  std::map<std::string, std::string> headers;  // names in lower case
  std::size_t from = 0;                        // of a range
  bool has_range = false;
  std::size_t count = 0;  // of requests for this target before this one
};

class HttpAnswer {
 public:
  explicit HttpAnswer(int fd) : fd_(fd) {}
  // False: whoever listened has gone, or the server ends.
  bool send(std::string_view bytes);
  bool head(int code, std::size_t length, std::string_view more = {});
  // The whole body, or what the range asks for.
  void body(const HttpRequest& request, std::string_view body);
  [[nodiscard]] std::size_t sent() const { return sent_; }

 private:
  int fd_;
  std::size_t sent_ = 0;
};

using Handler = std::function<void(const HttpRequest&, HttpAnswer&)>;

class Server {
 public:
  Server();
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // A handler may be at work until the server has ended: what it refers to lives longer than that,
  // and where it waits, it asks is_over() too.
  void on(const std::string& target, Handler handler);
  [[nodiscard]] bool is_over() const { return over_; }
  // A handler that just serves.
  void serve(const std::string& target, std::string body);
  [[nodiscard]] std::string url(std::string_view path) const;
  [[nodiscard]] std::string address() const;  // http://127.0.0.1:PORT
  std::vector<HttpRequest> requests();
  std::size_t count();

 private:
  void accept_all();
  void answer(int fd);

  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::map<std::string, Handler> handlers_;
  std::vector<HttpRequest> requests_;
  std::vector<std::thread> answering_;
  std::thread accepting_;
};

}  // namespace bootstrap_tests
