// Asks a sandbox what it is: its shell, where it has one, else a supervisor of ours that answers
// for itself.
#pragma once

#include <asio/awaitable.hpp>
#include <string>
#include <vector>

#include "quietus/bootstrap.hpp"

namespace quietus {

inline constexpr std::size_t kAnswerCap = std::size_t{256} << 10;
inline constexpr unsigned kPlacedMode = 0755;
// A program needs a little more than its bytes.
inline constexpr std::uint64_t kSlack = std::uint64_t{64} << 10;

// What is to be found out besides.
struct Question {
  std::vector<std::string> folders = {};  // folder_of() a digest: which of these are there already
  std::string name = {};                  // the program's file in them
  std::uint64_t bytes = 0;                // for which there must be room
  std::vector<std::string> directories = {};
};

struct Asked {
  Platform platform = {};
  bool has_shell = false;
  std::vector<std::string> present = {};
  // Without a shell: the supervisor that answered, the directory in which it stands, and what it
  // took to bring it.
  std::string probe = {};
  std::string directory = {};
  std::uint64_t sent = 0;
};

class Inquiry {
 public:
  // Both outlive it. Remarks for the user are added to the notes.
  Inquiry(Sandbox& sandbox, const BootstrapOptions& options, std::vector<std::string>& notes)
      : sandbox_(sandbox), options_(options), notes_(notes) {}

  asio::awaitable<Expected<Asked>> ask(Question question);
  asio::awaitable<Expected<Platform>> probe_by(std::string path, std::string directory);

 private:
  struct Survey;
  asio::awaitable<Expected<Survey>> survey(Question question);
  asio::awaitable<Expected<Asked>> ask_own(std::vector<std::string> directories);

  Sandbox& sandbox_;
  const BootstrapOptions& options_;
  std::vector<std::string>& notes_;
};

// Where a program of this digest stands.
std::string folder_of(const std::string& digest);
// Without a shell nobody can make a directory, nor tell the uid before the program is there.
std::string path_without_shell(const std::string& directory, const LocalProgram& program);

// Whether another try makes no sense: what the sandbox says no to may have another way.
bool is_final(const Error& error);
tl::unexpected<Error> cannot(const std::string& what, const Sandbox& sandbox, const Error& why);

}  // namespace quietus
