// The client that carries a launch is killed: that changes no verdict. It may say 0 at that (podman
// after TERM), or nothing at all; what counts is the receipt.
#include <signal.h>

#include <algorithm>

#include "matrix/cell_scene.hpp"

namespace matrix {
namespace {

struct Strike {
  std::string name;
  int signal;
};

std::vector<Strike> strikes() {
  const Column column = here();
  // Locally there is no client, and what is in bwrap dies with it.
  if (column == Column::local || column == Column::bwrap) return {};
  return {{"kill", SIGKILL}, {"term", SIGTERM}};
}

std::string strike_name(const testing::TestParamInfo<Strike>& info) {
  return word(here()) + '_' + info.param.name;
}

class Clients : public CellScene, public testing::WithParamInterface<Strike> {
 protected:
  void end_with(const Want& want) {
    expect_receipt(want);
    if (want.confirmed) expect_artifacts();
    close_and_expect_nothing_left(want);
  }
};

TEST_P(Clients, KilledMidRunTheCommandIsStoppedAndItsOwnCodeCounts) {
  enter(Row::transport_killed, here());
  run_until_alive({"trap:TERM:9", "touch:3", "hold"});
  ASSERT_TRUE(until([&] { return beats->count(3) > 0; }));
  ASSERT_EQ(kill(client(), GetParam().signal), 0);
  // srun takes the step with it; the receipt says that it does not know.
  if (here() == Column::slurm) {
    const std::vector<Cell> cells = cells_here();
    const auto lost = std::ranges::find(cells, Row::transport_killed, &Cell::row);
    ASSERT_NE(lost, cells.end());
    end_with(as_it_came(lost->want));
  } else {
    end_with({.code = 9});
  }
}

TEST_P(Clients, KilledAfterTheCommandHasEndedUnseenItsCodeCounts) {
  enter(Row::transport_killed, here());
  run_until_alive({go(), "exit:7"});
  // podman locks the container until it has recorded a start: frozen within, it would hold up all
  // others. Who is answered knows that it has let go.
  ASSERT_TRUE(client_tests::succeeded(run(session().status(60s))));
  const pid_t frozen = client();
  ASSERT_EQ(kill(frozen, SIGSTOP), 0);
  let_go();
  const auto is_done = [&] {
    const auto status = run(session().status(60s));
    return status && status->phase == SessionPhase::done;
  };
  ASSERT_TRUE(until(is_done, 60)) << "the command goes on";
  ASSERT_EQ(kill(frozen, GetParam().signal), 0);
  ASSERT_EQ(kill(frozen, SIGCONT), 0);
  end_with({.code = 7});
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Clients);
INSTANTIATE_TEST_SUITE_P(Killed, Clients, testing::ValuesIn(strikes()), strike_name);

// Only ssh has one for all commands.
std::vector<Column> connected() {
  if (here() != Column::ssh) return {};
  return {Column::ssh};
}

class Connection : public CellScene, public testing::WithParamInterface<Column> {};

TEST_P(Connection, KilledMidRunChangesNoVerdict) {
  enter(Row::transport_killed, GetParam());
  run_until_alive({"trap:TERM:9", "touch:3", "hold"});
  ASSERT_TRUE(until([&] { return beats->count(3) > 0; }));
  const std::vector<pid_t> masters = clients_of("[mux]");
  ASSERT_EQ(masters.size(), 1U);
  ASSERT_EQ(kill(masters.front(), SIGKILL), 0);
  const Want want{.code = 9, .execute = ErrorKind::transport};
  expect_verdict(want);
  expect_artifacts();
  close_and_expect_nothing_left(want);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Connection);
INSTANTIATE_TEST_SUITE_P(Killed, Connection, testing::ValuesIn(connected()), column_name);

}  // namespace
}  // namespace matrix
