// Each cell of the table is one test: the verdict, the artifacts, and what is left.
#include <signal.h>

#include <fstream>
#include <sstream>

#include "matrix/cell_scene.hpp"

namespace matrix {
namespace {

class Matrix : public CellScene, public testing::WithParamInterface<Cell> {};

TEST_P(Matrix, VerdictAndArtifactsAreRightAndNothingIsLeft) {
  const Cell& cell = GetParam();
  enter(cell.row, cell.column);
  switch (cell.row) {
    case Row::crash:
      run_until_alive({go(), "die:SEGV"});
      let_go();
      break;
    case Row::deadline: run_until_alive({"hold"}, 8s); break;
    case Row::stop: {
      run_until_alive({"hold"});
      // By anybody who can run commands inside.
      ExecRequest request{.argv = {session().supervisor(), "stop", "--session",
                                   session().directory(), "--timeout", "60"}};
      const ExecResult stopped = run(sandbox().exec(std::move(request)));
      EXPECT_FALSE(stopped.error.has_value());
      EXPECT_NE(stopped.out.find("\"cleanup_confirmed\": true"), std::string::npos) << stopped.err;
      break;
    }
    case Row::expire: {
      run_until_alive({"hold"});
      EXPECT_TRUE(client_tests::succeeded(run(session().expire(60s))));
      break;
    }
    case Row::cancel:
      run_until_alive({"hold"});
      executing->cancel();
      break;
    case Row::transport_killed:
      run_until_alive({"hold"});
      ASSERT_EQ(kill(client(), SIGKILL), 0);
      break;
    case Row::supervisor_killed:
      run_until_alive({"hold"});
      ASSERT_EQ(kill(supervisor(), SIGKILL), 0);
      break;
    case Row::borrowed:
    case Row::owned: start_bystander(); [[fallthrough]];
    case Row::normal:
    case Row::no_shell:
    case Row::only_busybox:
      run_until_alive({go(), "exit:0"});
      let_go();
      break;
  }
  const Want want = as_it_came(cell.want);
  expect_verdict(want);
  if (want.confirmed) {
    expect_artifacts();
    if (place().has_shell) {
      EXPECT_EQ(run(session().read_output_log()), "hello\n");
    }
  }
  close_and_expect_nothing_left(want);
}

std::string cell_name(const testing::TestParamInfo<Cell>& info) {
  return word(info.param.column) + '_' + word(info.param.row);
}

INSTANTIATE_TEST_SUITE_P(Cells, Matrix, testing::ValuesIn(cells_here()), cell_name);

// The documentation holds the very table that the cells above are taken from.
TEST(Table, IsTheOneOfTheDocumentation) {
  std::ifstream file(QUIETUS_MATRIX_PAGE);
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(table_text()), std::string::npos)
      << "docs/controller-matrix.md should hold:\n\n"
      << table_text();
}

}  // namespace
}  // namespace matrix
