// The least that a sandbox can be: a root directory with quietus in it and nothing else.
#pragma once

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "harness/launch.hpp"
#include "harness/tools.hpp"

namespace harness {

class BareRoot {
 public:
  // Makes the root and copies quietus into it.
  explicit BareRoot(std::string directory) : directory_(std::move(directory)) {
    std::filesystem::create_directory(directory_);
    std::filesystem::permissions(directory_, std::filesystem::perms(0755));
    add(quietus_binary(), "/quietus");
  }

  void add(const std::string& from, const std::string& name) const {
    std::filesystem::copy_file(from, inside(name));
    std::filesystem::permissions(inside(name), std::filesystem::perms(0755));
  }
  void add_directory(const std::string& name, unsigned mode = 0755) const {
    std::filesystem::create_directories(inside(name));
    std::filesystem::permissions(inside(name), std::filesystem::perms(mode));
  }
  [[nodiscard]] std::string inside(const std::string& name) const { return directory_ + name; }

  // `words` in there, as this user, with an empty environment.
  [[nodiscard]] Launch launch(Words words, unsigned uid = 0) const {
    Launch launch;
    launch.form = Form::run;
    launch.words = std::move(words);
    launch.environment = Words{};
    launch.in_child = [root = directory_, uid] {
      if (chroot(root.c_str()) != 0 || chdir("/") != 0) _exit(97);
      if (uid != 0 && (setgroups(0, nullptr) != 0 || setgid(uid) != 0 || setuid(uid) != 0)) {
        _exit(98);
      }
    };
    return launch;
  }

 private:
  std::string directory_;
};

}  // namespace harness
