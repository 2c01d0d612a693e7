/// Where the system has no threads left, an error says so, and the process goes on.
#include "scarce_threads.hpp"
#include "temp_folder.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace gnstor;
using namespace gnstor::test;
namespace host = gnstor::host;

namespace {

/// The message that opening a session ends with when only `threads` may be started.
std::string refusal(const std::string& endpoint, int threads) {
  threads_left = threads;
  std::string said;
  try {
    host::session s(endpoint);
  } catch (const host::error& e) {
    said = e.what();
  }
  threads_left = 1 << 30;
  return said;
}

}  // namespace

TEST_CASE("a session that gets too few threads says so, and the next one opens") {
  if (!threads_can_run_out) return;
  const temp_folder folder;
  for (const std::string& shape : {std::string("&threads=4"), "&threads=3&flash=" + folder.path(),
                                   std::string("&transport=proxy")}) {
    CAPTURE(shape);
    const std::string endpoint = "emu:?capacity=16M" + shape;
    int enough = 0;
    for (; enough < 16; ++enough) {
      const std::string said = refusal(endpoint, enough);
      if (said.empty()) break;
      CAPTURE(said);
      CHECK(said.find("thread") != said.npos);
      CHECK(said.find("ulimit -u") != said.npos);
    }
    CHECK(enough >= 2);
    CHECK(enough < 16);
    const host::session again(endpoint);
  }
}
