// Files and trees into a sandbox and out of it, by what the inside has: a shared file system, a
// shell, tar, else the transport's own copy. Always through a bounded buffer; whatever stands at a
// destination is whole.
#pragma once

#include <asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "client/src/process.hpp"
#include "quietus/sandbox.hpp"
#include "quietus/transport.hpp"

namespace quietus {

class Transfer {
 public:
  explicit Transfer(const Transport& transport) : transport_(transport) {}

  // Must run in guarded coroutines.
  asio::awaitable<Expected<void>> upload(std::string local, std::string inside,
                                         TransferOptions options);
  asio::awaitable<Expected<void>> download(std::string inside, std::string local,
                                           TransferOptions options);

 private:
  // What there is inside, asked once.
  struct Tools {
    bool shell = false;
    bool tar = false;
    bool base64 = false;
  };
  struct Job;  // transfer_parts.hpp

  asio::awaitable<Expected<Tools>> tools(Until deadline);
  asio::awaitable<ProcessEnd> run(HostCommand command, Until deadline);
  asio::awaitable<ProcessEnd> run_inside(std::vector<std::string> argv, ProcessRequest request);

  asio::awaitable<Expected<void>> upload_file(Job job);
  asio::awaitable<Expected<void>> upload_tree(Job job);
  asio::awaitable<Expected<void>> upload_through_shell(Job job, std::uint64_t size);
  asio::awaitable<Expected<void>> upload_in_arguments(Job job, std::uint64_t size);
  asio::awaitable<Expected<void>> upload_through_tar(Job job);
  asio::awaitable<Expected<void>> upload_by_copy(Job job);
  asio::awaitable<Expected<void>> upload_to_host(Job job, std::string root);
  asio::awaitable<Expected<void>> download_from_host(Job job, std::string root);
  asio::awaitable<Expected<void>> download_through_shell(Job job);
  asio::awaitable<Expected<void>> download_by_copy(Job job);
  // Of a file: by what the script has said. What it may have left is removed.
  asio::awaitable<Expected<void>> stored_or_why(Job job, std::string temporary, std::string said,
                                                ProcessEnd end);
  // After a failure: what may be left inside.
  asio::awaitable<void> remove_inside(std::string path);

  const Transport& transport_;
  std::optional<Tools> tools_;
};

}  // namespace quietus
