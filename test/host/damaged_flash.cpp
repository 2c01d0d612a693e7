#include "damaged_flash.hpp"

using namespace gnstor::test;

TEST_CASE("a bit that flips in flash is never read: another replica is, or an error") {
  check_damaged_flash("", {"", "&runner=sim&lanes=32", "&threads=2", "&check_reads=no"});
}

TEST_CASE("what one runner has written another one checks") {
  check_damaged_flash("&runner=sim&lanes=32", {"", "&runner=sim"});
}
