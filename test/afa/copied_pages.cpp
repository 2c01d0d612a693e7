#include "copied_pages.hpp"

#include "simt/run.hpp"

using namespace gnstor;
using namespace gnstor::test;

TEST_CASE("the CRC of bytes is that of RFC 3720, B.4") {
  unsigned char bytes[32] = {};
  CHECK(fw::crc32c(bytes, 32) == 0x8a9136aa);
  for (auto& b : bytes) b = 0xff;
  CHECK(fw::crc32c(bytes, 32) == 0x62a8ab43);
  for (int k = 0; k < 32; ++k) bytes[k] = static_cast<unsigned char>(k);
  CHECK(fw::crc32c(bytes, 32) == 0x46dd794e);
  for (int k = 0; k < 32; ++k) bytes[k] = static_cast<unsigned char>(31 - k);
  CHECK(fw::crc32c(bytes, 32) == 0x113fdb5c);
  // An iSCSI read command.
  const unsigned char command[48] = {0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0,
                                     0x14, 0,    0, 0, 0, 0, 4, 0, 0, 0, 0, 20, 0, 0, 0, 24,
                                     0x28, 0,    0, 0, 0, 0, 0, 0, 2, 0, 0, 0,  0, 0, 0, 0};
  CHECK(fw::crc32c(command, 48) == 0xd9963a56);
}

TEST_CASE("a page's CRC by the processor's instruction is the one by tables") {
  std::vector<unsigned char> page(block_bytes);
  for (std::uint32_t k = 0; k < 64; ++k) {
    page[mix64(k) % block_bytes] ^= static_cast<unsigned char>(1u << (k % 8));
    CHECK(gnstor::detail::page_crc_here(page.data()) == fw::crc32c(page.data(), block_bytes));
  }
}

TEST_CASE("a page that lanes copy together has its CRC, in every mode") {
  for (host::mode mode : {host::mode::fast, host::mode::seeded, host::mode::weak}) {
    std::vector<unsigned char> memory = crc_memory();
    std::vector<unsigned char> flash(std::size_t{crc_pages} * block_bytes + 16);
    std::vector<unsigned char> back(memory.size());
    crc_record records[crc_pages] = {};
    auto* aligned = reinterpret_cast<unsigned char*>(
        (reinterpret_cast<std::uint64_t>(flash.data()) + 15) / 16 * 16);
    host::executor machine({.run = mode, .seed = 7});
    machine.spawn(crc_pages, 32, page_copier{}, memory.data(), aligned, back.data(),
                  static_cast<crc_record*>(records));
    machine.run();
    check_crcs(memory, back.data(), records);
  }
}
