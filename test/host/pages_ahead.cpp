/// Pages of a volume that are begun and finished later.
#include "pages_ahead.hpp"

using namespace gnstor::test;

TEST_CASE("pages are begun by one lane and finished by another") {
  for (const std::string endpoint :
       {"emu:?capacity=16M&runner=cpu", "emu:?capacity=16M&runner=cpu&transport=proxy",
        "emu:?capacity=16M&runner=sim&lanes=4"})
    pages_are_finished_by_anybody(endpoint);
}
