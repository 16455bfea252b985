#include "client/bootstrap/download.hpp"

#include <curl/curl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "client/bootstrap/words.hpp"
#include "client/src/descriptor.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr milliseconds kLongestPause = 60s;
constexpr milliseconds kLook = 50ms;
constexpr long kConnectSeconds = 30;
constexpr long kMostRedirects = 10;
constexpr long kOk = 200;
constexpr long kPartial = 206;
constexpr long kNotSatisfiable = 416;

struct CurlDeleter {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
using Curl = std::unique_ptr<CURL, CurlDeleter>;

enum class Trouble { none, disk, too_large, stalled };

// What libcurl's callbacks see of one attempt.
struct Attempt {
  CURL* curl = nullptr;
  int fd = -1;
  const FetchOptions* options = nullptr;
  std::uint64_t have = 0;      // bytes in the file
  std::uint64_t received = 0;  // by this attempt
  bool is_http = true;
  bool decided = false;  // whether what comes is the file
  bool wanted = false;
  Trouble trouble = Trouble::none;
  int error = 0;
  SteadyTime last_told = {};
  SteadyTime last_byte = {};
};

// An answer that is no part of the file (an error page) is read and dropped.
void decide(Attempt& attempt) {
  attempt.decided = true;
  attempt.wanted = true;
  if (!attempt.is_http) return;
  long code = 0;
  curl_easy_getinfo(attempt.curl, CURLINFO_RESPONSE_CODE, &code);
  attempt.wanted = code == kOk || code == kPartial;
  if (code == kPartial || attempt.have == 0 || !attempt.wanted) return;
  // A server that knows no ranges begins at the beginning.
  if (ftruncate(attempt.fd, 0) != 0 || lseek(attempt.fd, 0, SEEK_SET) != 0) {
    attempt.trouble = Trouble::disk;
    attempt.error = errno;
  }
  attempt.have = 0;
}

std::size_t take_bytes(char* data, std::size_t, std::size_t size, void* context) {
  Attempt& attempt = *static_cast<Attempt*>(context);
  attempt.last_byte = std::chrono::steady_clock::now();
  if (!attempt.decided) decide(attempt);
  if (attempt.trouble != Trouble::none) return 0;
  if (!attempt.wanted) return size;
  if (attempt.have + size > attempt.options->most_bytes) {
    attempt.trouble = Trouble::too_large;
    return 0;
  }
  std::size_t done = 0;
  while (done < size) {
    const ssize_t wrote = ::write(attempt.fd, data + done, size - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      attempt.trouble = Trouble::disk;
      attempt.error = errno;
      return 0;
    }
    done += static_cast<std::size_t>(wrote);
  }
  attempt.have += size;
  attempt.received += size;
  return size;
}

int watch(void* context, curl_off_t total, curl_off_t now, curl_off_t, curl_off_t) {
  Attempt& attempt = *static_cast<Attempt*>(context);
  const FetchOptions& options = *attempt.options;
  if (options.cancelled && options.cancelled()) return 1;
  const SteadyTime moment = std::chrono::steady_clock::now();
  // libcurl's own bound is one of a mean over some seconds. Connecting has another one.
  curl_off_t connected = 0;
  curl_easy_getinfo(attempt.curl, CURLINFO_CONNECT_TIME_T, &connected);
  if (connected == 0) attempt.last_byte = moment;
  if (moment - attempt.last_byte > options.stall) {
    attempt.trouble = Trouble::stalled;
    return 1;
  }
  if (options.on_progress && attempt.wanted && moment - attempt.last_told > 100ms) {
    attempt.last_told = moment;
    FetchProgress progress{.received = attempt.have};
    if (total > 0) progress.total = attempt.have + static_cast<std::uint64_t>(total - now);
    options.on_progress(progress);
  }
  return 0;
}

bool is_broken_transfer(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return true;
    default: return false;
  }
}

bool is_for_a_moment(long code) {
  return code == 408 || code == 425 || code == 429 || (code >= 500 && code < 600);
}

// Half of the pause is certain, half is chance: many that failed at once do not come back at once.
milliseconds with_chance(milliseconds pause) {
  thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<milliseconds::rep> chance(0, pause.count() / 2);
  return pause / 2 + milliseconds(chance(random));
}

// False: cancelled.
bool wait(milliseconds pause, const FetchOptions& options) {
  const auto until = std::chrono::steady_clock::now() + pause;
  for (;;) {
    if (options.cancelled && options.cancelled()) return false;
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= 0ms) return true;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, kLook));
  }
}

void configure(CURL* curl, const std::string& url, Attempt& attempt, char* message) {
  const FetchOptions& options = *attempt.options;
  const auto set = [&](CURLoption option, auto value) {
    (void)curl_easy_setopt(curl, option, value);
  };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_ERRORBUFFER, message);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "quietus");
  set(CURLOPT_PROTOCOLS_STR, "https,http,file");
  // A redirection of a server must not lead to this machine's files, nor to where nothing is
  // encrypted.
  const bool is_https = url.starts_with("https://");
  set(CURLOPT_REDIR_PROTOCOLS_STR, is_https ? "https" : "https,http");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, kMostRedirects);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  if (!options.netrc.empty()) set(CURLOPT_NETRC_FILE, options.netrc.c_str());
  if (!options.ca_bundle.empty()) set(CURLOPT_CAINFO, options.ca_bundle.c_str());
  set(CURLOPT_WRITEFUNCTION, &take_bytes);
  set(CURLOPT_WRITEDATA, &attempt);
  set(CURLOPT_XFERINFOFUNCTION, &watch);
  set(CURLOPT_XFERINFODATA, &attempt);
  set(CURLOPT_NOPROGRESS, 0L);
}

bool is_distrust(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_SSL_ISSUER_ERROR;
}

tl::unexpected<Error> gave_up(const std::string& url, const std::string& why,
                              CURLcode result = CURLE_OK) {
  const char* advice =
      "look at the network and the proxy (https_proxy), or set QUIETUS_MIRROR to a mirror";
  if (is_distrust(result)) advice = "set CURL_CA_BUNDLE to a file with the certificates to trust";
  if (url.starts_with("file:")) advice = "put it there, or look at QUIETUS_MIRROR or the manifest";
  return fail(ErrorKind::transport, "cannot download " + shown_url(url) + ": " + why, advice);
}

Expected<void> rewind_to(int fd, std::uint64_t size, const std::string& url) {
  if (ftruncate(fd, static_cast<off_t>(size)) == 0 &&
      lseek(fd, static_cast<off_t>(size), SEEK_SET) >= 0) {
    return {};
  }
  return fail(ErrorKind::input, system_message("keep", shown_url(url), errno));
}

}  // namespace

Expected<std::uint64_t> download(const std::string& url, int fd, const FetchOptions& options) {
  // Not safe in threads by itself, and asked for by each user of libcurl in a program.
  static std::once_flag once;
  std::call_once(once, [] { (void)curl_global_init(CURL_GLOBAL_DEFAULT); });
  struct stat there {};
  if (fstat(fd, &there) != 0) {
    return fail(ErrorKind::input, system_message("keep", shown_url(url), errno));
  }
  Attempt attempt{.fd = fd, .options = &options, .is_http = !url.starts_with("file:")};
  attempt.have = attempt.is_http ? static_cast<std::uint64_t>(there.st_size) : 0;
  const auto placed = rewind_to(fd, attempt.have, url);
  if (!placed) return fail(placed.error());

  std::uint64_t received = 0;
  std::string why;
  milliseconds pause = options.first_pause;
  for (int failures = 0; failures < std::max(1, options.attempts);) {
    if (failures > 0 || received > 0) {
      if (!wait(with_chance(pause), options)) break;
    }
    const Curl curl(curl_easy_init());
    if (!curl) return gave_up(url, "libcurl cannot be used");
    char message[CURL_ERROR_SIZE] = "";
    attempt.curl = curl.get();
    attempt.decided = false;
    attempt.wanted = false;
    attempt.received = 0;
    attempt.trouble = Trouble::none;
    attempt.last_byte = std::chrono::steady_clock::now();
    configure(curl.get(), url, attempt, message);
    const std::string range = std::to_string(attempt.have) + "-";
    if (attempt.have > 0) (void)curl_easy_setopt(curl.get(), CURLOPT_RANGE, range.c_str());
    const CURLcode result = curl_easy_perform(curl.get());
    received += attempt.received;

    if (attempt.trouble == Trouble::disk) {
      return fail(ErrorKind::input, system_message("keep", shown_url(url), attempt.error),
                  "make room, or set XDG_CACHE_HOME to another place");
    }
    if (attempt.trouble == Trouble::too_large) {
      return fail(ErrorKind::input, shown_url(url) + " is larger than " +
                                        std::to_string(options.most_bytes) + " bytes");
    }
    long code = 0;
    curl_off_t retry_after = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &code);
    curl_easy_getinfo(curl.get(), CURLINFO_RETRY_AFTER, &retry_after);
    const bool answered = result == CURLE_OK && attempt.is_http;
    if (result == CURLE_OK && (!attempt.is_http || code == kOk || code == kPartial)) {
      // An empty file comes without a byte.
      if (!attempt.decided) decide(attempt);
      return received;
    }
    const bool stalled = attempt.trouble == Trouble::stalled;
    if (result == CURLE_ABORTED_BY_CALLBACK && !stalled) break;
    why = stalled    ? "no byte came for " + std::to_string(options.stall.count()) + " s"
          : answered ? "the server says " + std::to_string(code)
                     : std::string(*message != 0 ? message : curl_easy_strerror(result));
    if (answered && code == kNotSatisfiable && attempt.have > 0) {
      // What we have is no beginning of what is there now.
      attempt.have = 0;
      const auto again = rewind_to(fd, 0, url);
      if (!again) return fail(again.error());
      ++failures;
      continue;
    }
    if (answered ? !is_for_a_moment(code) : !stalled && !is_broken_transfer(result)) {
      return gave_up(url, why, result);
    }
    // As long as each attempt brings something, there is no reason to give up.
    const bool progress = attempt.received > 0;
    failures = progress ? 1 : failures + 1;
    pause = progress ? options.first_pause : std::min(pause * 2, kLongestPause);
    if (retry_after > 0) {
      pause = std::clamp<milliseconds>(std::chrono::seconds(std::min<curl_off_t>(retry_after, 60)),
                                       pause, kLongestPause);
    }
  }
  if (options.cancelled && options.cancelled()) {
    return fail(ErrorKind::cancelled, "the download of " + shown_url(url) + " was cancelled");
  }
  return gave_up(url, why + " (" + std::to_string(options.attempts) + " attempts)");
}

Expected<void> check_mirror(std::string_view mirror) {
  if (mirror.empty() || is_url(mirror)) return {};
  return fail(ErrorKind::input,
              "QUIETUS_MIRROR must start with https://, http:// or file:///, not '" +
                  shown_url(shown_text(mirror)) + "'");
}

std::string mirrored(const std::string& url, const std::string& mirror) {
  const std::size_t scheme = url.find("://");
  if (mirror.empty() || scheme == std::string::npos || url.starts_with("file:")) return url;
  std::string rest = url.substr(scheme + 3);
  // A name and password for the origin are none of the mirror's business.
  const std::size_t path = rest.find('/');
  const std::size_t at = rest.find('@');
  if (at != std::string::npos && at < path) rest = rest.substr(at + 1);
  return mirror + (mirror.ends_with('/') ? "" : "/") + rest;
}

std::string shown_url(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const std::size_t begin = scheme + 3;
  const std::size_t end = url.find('/', begin);
  const std::size_t at = url.rfind('@', end);
  if (at == std::string::npos || at < begin) return url;
  return url.substr(0, begin) + url.substr(at + 1);
}

}  // namespace quietus
