/// What SSDs say of the blocks that they have.
#include <link/allocated_blocks.hpp>

#include <doctest/doctest.h>

using namespace gnstor;
using host::allocated_blocks;

namespace {

constexpr std::uint64_t first = 1000;

/// An answer with these runs, each from a block on and of so many blocks.
std::vector<std::byte> answer(std::vector<std::pair<std::uint64_t, std::uint32_t>> runs,
                              std::uint8_t completion = wire::nvme::lba_status_whole) {
  std::vector<std::byte> bytes(allocated_blocks::answer_bytes);
  const wire::nvme::lba_status_list list{static_cast<std::uint32_t>(runs.size()), completion, {}};
  std::memcpy(bytes.data(), &list, sizeof list);
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const wire::nvme::lba_status_descriptor d{runs[k].first, runs[k].second, 0, 0, 0};
    std::memcpy(bytes.data() + sizeof list + k * sizeof d, &d, sizeof d);
  }
  return bytes;
}

}  // namespace

TEST_CASE("what an SSD says that it has is marked, and nothing is believed that makes no sense") {
  const auto asked = wire::nvme::make_get_lba_status(0, 1, first, 10, 4096);
  std::vector<bool> there(10, false);
  CHECK(allocated_blocks::mark(asked, answer({{first, 2}, {first + 9, 1}}), there));
  CHECK(allocated_blocks::mark(asked, answer({{first + 4, 1}}), there));
  CHECK(there ==
        std::vector<bool>{true, true, false, false, true, false, false, false, false, true});
  for (const auto& wrong :
       {answer({{first - 1, 1}}), answer({{first + 10, 1}}), answer({{first + 9, 2}}),
        answer({{first, ~0u}}), answer({}, wire::nvme::lba_status_full)}) {
    std::vector<bool> none(10, false);
    CHECK_FALSE(allocated_blocks::mark(asked, wrong, none));
  }
  auto many = answer({});
  many[1] = std::byte{3};  // 768 runs
  CHECK_FALSE(allocated_blocks::mark(asked, many, there));
  CHECK_FALSE(allocated_blocks::mark(asked, std::span(many).first(100), there));
}

TEST_CASE("a place is silent where neither its SSD nor one that stands in for it is in sync") {
  volume_info v;
  v.ssd_count = 4;
  CHECK(allocated_blocks::silent_places(v) == 0);
  v.set_membership(1u << 1, 1u << 2, {});
  CHECK(allocated_blocks::silent_places(v) == 0b0110);
  const wire::afa::stand_ins others = wire::afa::stand_ins{}.with(1, 5);
  v.set_membership(1u << 1, 0, others);
  CHECK(allocated_blocks::silent_places(v) == 0);
  v.set_membership(1u << 1, 1u << 5, others);  // it is being filled
  CHECK(allocated_blocks::silent_places(v) == 0b0010);
  v.set_membership(0, 1u << 5, others);  // and the other one serves until then
  CHECK(allocated_blocks::silent_places(v) == 0);
}
