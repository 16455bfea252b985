// Fetches the first target of a manifest, as one process of many: what the tests start, and kill.
//
//     fetch_tool MANIFEST CACHE        prints the program's path and the bytes that were downloaded
#include <fstream>
#include <iostream>
#include <iterator>

#include "quietus/bootstrap.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto manifest = quietus::parse_manifest(text, argv[1]);
  if (!manifest) {
    std::cerr << manifest.error().text() << '\n';
    return 2;
  }
  quietus::FetchOptions options{.cache = argv[2]};
  options.first_pause = std::chrono::milliseconds(20);
  const auto fetched = quietus::fetch_tool(*manifest, manifest->targets.front(), options);
  if (!fetched) {
    std::cerr << fetched.error().text() << '\n';
    return 1;
  }
  std::cout << fetched->entry.program << ' ' << fetched->downloaded << '\n';
  return 0;
}
