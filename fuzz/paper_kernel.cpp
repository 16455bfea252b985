#include "paper_kernel.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

namespace fuzz {
namespace {

constexpr std::int64_t kBillion = 1000000000;
constexpr std::int64_t kWallAhead = 1700000000 * kBillion;

template <class T>
T* at(long address) {
  return reinterpret_cast<T*>(address);
}

}  // namespace

int PaperKernel::add(File file) {
  open_[next_fd_] = std::move(file);
  return next_fd_++;
}

int PaperKernel::give(std::string_view bytes) { return add({.bytes = std::string(bytes)}); }

std::size_t PaperKernel::taken(int fd) const {
  const auto found = open_.find(fd);
  return found == open_.end() ? 0 : found->second.at;
}

long PaperKernel::open(const char* path, int flags) {
  if ((flags & O_CREAT) != 0) {
    changes.push_back(SYS_openat);
    return -EROFS;
  }
  if ((flags & O_DIRECTORY) != 0) return add({.directory = true});
  const auto found = files.find(std::string_view(path));
  return found == files.end() ? -ENOENT : add({.bytes = found->second});
}

long PaperKernel::read(int fd, char* into, std::size_t size) {
  const auto found = open_.find(fd);
  if (found == open_.end()) return -EBADF;
  File& file = found->second;
  const std::size_t count = std::min({size, most_at_once, file.bytes.size() - file.at});
  std::memcpy(into, file.bytes.data() + file.at, count);
  file.at += count;
  return static_cast<long>(count);
}

// struct linux_dirent64 of getdents(2), as many as fit, once.
long PaperKernel::list(int fd, char* into, std::size_t size) {
  const auto found = open_.find(fd);
  if (found == open_.end()) return -EBADF;
  constexpr std::size_t kNameAt = 19;
  std::size_t used = 0;
  for (std::size_t& next = found->second.at; next < processes.size(); ++next) {
    const std::string name = std::to_string(processes[next]);
    const std::size_t length = (kNameAt + name.size() + 1 + 7) / 8 * 8;
    if (used + length > size) break;
    std::memset(into + used, 0, length);
    const auto short_length = static_cast<std::uint16_t>(length);
    std::memcpy(into + used + 16, &short_length, sizeof short_length);
    std::memcpy(into + used + kNameAt, name.data(), name.size());
    used += length;
  }
  return static_cast<long>(used);
}

long PaperKernel::stat(std::string_view path, void* into) const {
  struct stat status {};
  const bool file = files.contains(path);
  if (!file && !links.contains(path)) return -ENOENT;
  status.st_mode = file ? S_IFREG | 0600 : S_IFLNK | 0777;
  status.st_mtim.tv_sec = modified;
  std::memcpy(into, &status, sizeof status);
  return 0;
}

long PaperKernel::poll(long fds, long count) {
  now_ns_ += 10000000;
  if (!ready || count == 0) return 0;
  auto* first = at<pollfd>(fds);
  first->revents = first->events;
  return 1;
}

long PaperKernel::perform(const quietus::sys::Request& request) noexcept {
  const auto& a = request.args;
  const auto fd = static_cast<int>(a[0]);
  const auto size = static_cast<std::size_t>(a[2]);
  switch (request.number) {
    case SYS_openat: return open(at<const char>(a[1]), static_cast<int>(a[2]));
    case SYS_close: return open_.erase(fd) == 1 ? 0 : -EBADF;
    case SYS_read: return read(fd, at<char>(a[1]), size);
    case SYS_getdents64: return list(fd, at<char>(a[1]), size);
    case SYS_write: (fd == 1 ? written : said).append(at<const char>(a[1]), size); return a[2];
    case SYS_newfstatat: return stat(at<const char>(a[1]), at<void>(a[2]));
    case SYS_fstat: {
      struct stat status {};
      status.st_mode = S_IFREG | 0600;
      status.st_mtim.tv_sec = modified;
      std::memcpy(at<void>(a[1]), &status, sizeof status);
      return 0;
    }
    case SYS_readlinkat: {
      const auto found = links.find(std::string_view(at<const char>(a[1])));
      if (found == links.end()) return -ENOENT;
      const std::size_t count = std::min(found->second.size(), static_cast<std::size_t>(a[3]));
      std::memcpy(at<char>(a[2]), found->second.data(), count);
      return static_cast<long>(count);
    }
    case SYS_flock: return locked && (a[1] & LOCK_UN) == 0 ? -EWOULDBLOCK : 0;
    case SYS_pipe2:
      at<int>(a[0])[0] = give({});
      at<int>(a[0])[1] = give({});
      return 0;
    case SYS_clone: return kChild;
    case SYS_waitid: return 0;
    case SYS_ppoll: return poll(a[0], a[1]);
    case SYS_nanosleep: {
      const auto* time = at<const timespec>(a[0]);
      now_ns_ += time->tv_sec * kBillion + time->tv_nsec;
      return 0;
    }
    case SYS_clock_gettime: {
      now_ns_ += 1000;
      const std::int64_t now = now_ns_ + (a[0] == CLOCK_REALTIME ? kWallAhead : 0);
      at<timespec>(a[1])->tv_sec = now / kBillion;
      at<timespec>(a[1])->tv_nsec = now % kBillion;
      return 0;
    }
    case SYS_pidfd_open: return has_pidfds ? add({.pid = static_cast<int>(a[0])}) : -ENOSYS;
    case SYS_pidfd_send_signal:
      sent.push_back({open_.contains(fd) ? open_[fd].pid : 0, static_cast<int>(a[1])});
      return 0;
    case SYS_kill: sent.push_back({fd, static_cast<int>(a[1])}); return 0;
    default: changes.push_back(request.number); return -ENOSYS;
  }
}

}  // namespace fuzz
