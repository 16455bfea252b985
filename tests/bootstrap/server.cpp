#include "bootstrap/server.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace bootstrap_tests {
namespace {

constexpr int kLook = 50;  // milliseconds
constexpr std::size_t kMostHead = 65536;

HttpRequest parse(std::string_view head) {
  HttpRequest request;
  std::size_t line_end = head.find("\r\n");
  const std::string_view first = head.substr(0, line_end);
  const std::size_t begin = first.find(' ');
  request.target = first.substr(begin + 1, first.find(' ', begin + 1) - begin - 1);
  while (line_end != std::string_view::npos) {
    head.remove_prefix(line_end + 2);
    line_end = head.find("\r\n");
    const std::string_view line = head.substr(0, line_end);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) break;
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    request.headers[name] = line.substr(colon + 2);
  }
  const auto range = request.headers.find("range");
  if (range != request.headers.end()) {
    request.has_range = true;
    request.from = std::stoul(range->second.substr(range->second.find('=') + 1));
  }
  return request;
}

}  // namespace

bool HttpAnswer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (wrote <= 0) return false;
    sent_ += static_cast<std::size_t>(wrote);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool HttpAnswer::head(int code, std::size_t length, std::string_view more) {
  const bool told = send("HTTP/1.1 " + std::to_string(code) +
                         " Told\r\nContent-Length: " + std::to_string(length) +
                         "\r\nConnection: close\r\n" + std::string(more) + "\r\n");
  sent_ = 0;
  return told;
}

void HttpAnswer::body(const HttpRequest& request, std::string_view body) {
  if (!request.has_range) {
    (void)(head(200, body.size()) && send(body));
    return;
  }
  if (request.from >= body.size()) {
    (void)head(416, 0);
    return;
  }
  const std::string place = "Content-Range: bytes " + std::to_string(request.from) + "-" +
                            std::to_string(body.size() - 1) + "/" + std::to_string(body.size());
  const std::string_view rest = body.substr(request.from);
  (void)(head(206, rest.size(), place + "\r\n") && send(rest));
}

Server::Server() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 128) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no server on the loopback");
  }
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { accept_all(); });
}

Server::~Server() {
  over_ = true;
  accepting_.join();
  for (std::thread& thread : answering_) thread.join();
  close(listener_);
}

void Server::on(const std::string& target, Handler handler) {
  const std::lock_guard lock(mutex_);
  handlers_[target] = std::move(handler);
}

void Server::serve(const std::string& target, std::string body) {
  on(target, [body = std::move(body)](const HttpRequest& request, HttpAnswer& answer) {
    answer.body(request, body);
  });
}

std::string Server::address() const { return "http://127.0.0.1:" + std::to_string(port_); }

std::string Server::url(std::string_view path) const { return address() + std::string(path); }

std::vector<HttpRequest> Server::requests() {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t Server::count() { return requests().size(); }

void Server::accept_all() {
  while (!over_) {
    pollfd ready{.fd = listener_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kLook) <= 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    // A client that was killed must not hold the server.
    timeval bound{.tv_sec = 5, .tv_usec = 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
    answering_.emplace_back([this, fd] {
      answer(fd);
      close(fd);
    });
  }
}

void Server::answer(int fd) {
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos && head.size() < kMostHead) {
    char piece[4096];
    const ssize_t got = recv(fd, piece, sizeof piece, 0);
    if (got <= 0) return;
    head.append(piece, static_cast<std::size_t>(got));
  }
  HttpRequest request = parse(head);
  Handler handler;
  {
    const std::lock_guard lock(mutex_);
    request.count = static_cast<std::size_t>(
        std::ranges::count(requests_, request.target, &HttpRequest::target));
    requests_.push_back(request);
    const auto found = handlers_.find(request.target);
    if (found != handlers_.end()) handler = found->second;
  }
  HttpAnswer answer(fd);
  if (handler) {
    handler(request, answer);
  } else {
    answer.head(404, 9);
    answer.send("not here\n");
  }
  shutdown(fd, SHUT_WR);
}

}  // namespace bootstrap_tests
