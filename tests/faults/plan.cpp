#include "faults/plan.hpp"

#include <algorithm>
#include <set>

#include "faults/request_kind.hpp"

namespace faults {
namespace {

class Planner {
 public:
  Planner(const Case& made, Breadth breadth) : made_(made), breadth_(breadth) {}

  void add_kind(const std::string& kind, const Calls& calls) {
    if (breadth_ == Breadth::quick) return add_quick(kind, calls);
    add_all(kind, calls.all(), {});
    for (int role = 0; role < kRoles; ++role) {
      const std::uint32_t own = calls.of[role];
      // Alone in its kind, it was swept just now.
      if (own != 0 && own != calls.all()) add_all(kind, own, static_cast<Role>(role));
    }
  }

  std::vector<Fault> take() { return std::move(faults_); }

 private:
  void add(const std::string& kind, std::optional<Role> role, std::uint32_t nth, bool lasting,
           Way way, int code) {
    if (lasting && must_work_at_last(kind)) return;
    faults_.push_back({kind, role, nth, lasting, way, code});
  }

  void add_all(const std::string& kind, std::uint32_t count, std::optional<Role> role) {
    for (const std::uint32_t nth : std::set<std::uint32_t>{1, std::min(2u, count), count}) {
      for (const bool lasting : {false, true}) {
        for (const int code : errnos_of(kind)) add(kind, role, nth, lasting, Way::refuse, code);
        if (may_pretend(kind)) add(kind, role, nth, lasting, Way::pretend, 0);
        if (may_shorten(kind)) add(kind, role, nth, lasting, Way::shorten, 0);
      }
    }
  }

  // First, second and last call, once and lasting, each with other errnos of the list; the whole
  // list is gone through over the cases. The roles that make such calls take turns to be hit alone.
  void add_quick(const std::string& kind, const Calls& calls) {
    const std::vector<int> codes = errnos_of(kind);
    auto turn = static_cast<std::uint32_t>(hash((made_.name + kind).c_str()));
    const auto next = [&] { return codes[turn++ % codes.size()]; };
    const std::uint32_t count = calls.all();
    for (int i = 0; i < 3; ++i) add(kind, {}, 1, true, Way::refuse, next());
    for (int i = 0; i < 2; ++i) add(kind, {}, 1, false, Way::refuse, next());
    if (count > 1) {
      add(kind, {}, count, true, Way::refuse, next());
      add(kind, {}, count, false, Way::refuse, next());
    }
    if (count > 2) add(kind, {}, 2, turn % 2 == 0, Way::refuse, next());
    const auto role = static_cast<Role>(turn % kRoles);
    const std::uint32_t own = calls.of[static_cast<std::size_t>(role)];
    if (own != 0 && own != count) {
      add(kind, role, 1 + turn % own, true, Way::refuse, next());
      add(kind, role, 1 + turn % own, false, Way::refuse, next());
    }
    if (may_pretend(kind)) {
      add(kind, {}, 1, true, Way::pretend, 0);
      for (std::uint32_t nth = 1; count > 1 && nth <= count && nth <= 3; ++nth) {
        add(kind, {}, nth, false, Way::pretend, 0);
      }
    }
    if (may_shorten(kind)) add(kind, {}, 1, turn % 2 == 0, Way::shorten, 0);
  }

  const Case& made_;
  const Breadth breadth_;
  std::vector<Fault> faults_;
};

}  // namespace

Census census(const Facts& facts) {
  Census census;
  for (const KindCount& kind : facts.kinds) {
    if (kind.hash == 0) continue;
    Calls& calls = census[kind.name];
    for (std::size_t role = 0; role < kRoles; ++role) calls.of[role] = kind.calls[role];
  }
  return census;
}

Census common(const Census& a, const Census& b) {
  Census both;
  for (const auto& [kind, calls] : a) {
    const auto found = b.find(kind);
    if (found == b.end()) continue;
    Calls& least = both[kind];
    for (std::size_t role = 0; role < kRoles; ++role) {
      least.of[role] = std::min(calls.of[role], found->second.of[role]);
    }
  }
  return both;
}

std::vector<Fault> plan(const Case& made, const Census& calls, Breadth breadth) {
  Planner planner(made, breadth);
  for (const auto& [kind, count] : calls) {
    if (count.all() > 0) planner.add_kind(kind, count);
  }
  return planner.take();
}

}  // namespace faults
