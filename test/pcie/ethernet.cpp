/// An 82574 as its bring-up meets it: registers of a fake, which does what the datasheet says of
/// reset, PHY and statistics.

#include <gnstor/pcie/ethernet_controller.hpp>

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace gnstor::host;
using namespace gnstor::host::pcie;

namespace {

using registers = ethernet_controller::registers;

/// Registers in memory. What was written in which order is kept.
class fake_controller final : public pcie_device {
 public:
  std::map<std::uint64_t, std::uint32_t> at;
  std::vector<std::uint64_t> written;
  std::uint16_t phy[32] = {0x1140};
  bool is_gone = false;
  bool resets = true;  ///< the reset ends
  bool has_address = true;
  bool phy_answers = true;
  int resets_seen = 0;

  fake_controller() { load(); }
  std::uint64_t read(std::uint64_t offset, std::uint32_t) override {
    if (is_gone) return ~0u;
    const std::uint32_t value = at[offset];
    if ((offset >= 0x4000 && offset < 0x4100) || offset == registers::interrupt_cause)
      at[offset] = 0;
    return value;
  }
  void write(std::uint64_t offset, std::uint64_t value, std::uint32_t) override {
    if (is_gone) return;
    const auto v = static_cast<std::uint32_t>(value);
    written.push_back(offset);
    at[offset] = v;
    if (offset == registers::control && (v & registers::reset) != 0 && resets) load();
    if (offset == registers::phy_access) access_phy(v);
  }
  std::uint64_t map(void*, std::uint64_t) override { return 0; }
  void unmap(std::uint64_t) noexcept override {}

  std::uint32_t receive_control() { return at[registers::receive_control]; }

 private:
  /// What a reset leaves: interrupts are as the NVM says, so let them be on.
  void load() {
    ++resets_seen;
    at.clear();
    at[registers::nvm_control] = registers::nvm_was_read;
    at[registers::status] = registers::link_up | 2u << registers::speed_shift;
    at[registers::address_low] = 0x1a005452;
    at[registers::address_high] = 0x000074b0 | (has_address ? registers::address_valid : 0);
  }
  void access_phy(std::uint32_t v) {
    const std::uint32_t index = v >> 16 & 31;
    if ((v >> 21 & 31) != 1 || !phy_answers) {
      at[registers::phy_access] = v | registers::phy_done | registers::phy_error;
      return;
    }
    if ((v >> 26 & 3) == 1) phy[index] = static_cast<std::uint16_t>(v);
    at[registers::phy_access] = (v & 0xffff0000) | phy[index] | registers::phy_done;
  }
};

template <class Work>
std::string thrown(const Work& work) {
  try {
    work();
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::string problem_of(fake_controller& f) {
  return thrown([&f] { ethernet_controller c(f, "0000:02:00.0"); });
}

}  // namespace

TEST_CASE("a controller is reset, silent, and has the address of its NVM") {
  fake_controller f;
  f.at[registers::receive_control] = 2;  // as somebody left it
  f.at[registers::good_received] = 9;
  const ethernet_controller c(f, "0000:02:00.0");
  CHECK(f.resets_seen == 2);
  CHECK(f.receive_control() == 0);
  CHECK(f.at[registers::interrupts_off] == ~0u);
  CHECK((f.at[registers::receive_filter] & registers::extended_descriptors) != 0);
  CHECK((f.at[registers::control] & registers::set_link_up) != 0);
  CHECK(c.address() == gnstor::wire::ethernet::mac_address{{0x52, 0x54, 0x00, 0x1a, 0xb0, 0x74}});
  CHECK(c.has_link());
  CHECK(c.speed() == 1000);
}

TEST_CASE("rings are described before they are enabled, and no tail is written") {
  fake_controller f;
  ethernet_controller c(f, "0000:02:00.0");
  f.written.clear();
  c.open_receive(0x1234567000, 64, {});
  CHECK(f.at[0x2800] == 0x34567000);
  CHECK(f.at[0x2804] == 0x12);
  CHECK(f.at[0x2808] == 1024);
  CHECK(f.at[0x2818] == 0);
  CHECK(f.written.back() == registers::receive_control);
  CHECK(f.receive_control() == 0x04008002);  // EN, BAM, SECRC
  c.open_transmit(0x1000, 32);
  CHECK(f.at[0x3800] == 0x1000);
  CHECK(f.at[0x3808] == 512);
  CHECK(f.at[0x3828] == 0x01410000);
  CHECK(f.written.back() == registers::transmit_control);
  CHECK(f.at[registers::transmit_control] == 0x0003f0fa);
  c.close_receive();
  CHECK((f.receive_control() & 2) == 0);
  c.open_receive(0, 64, {.buffer_bytes = 16384, .promiscuous = true});
  CHECK(f.receive_control() == 0x0601803a);
  CHECK(thrown([&] {
          c.open_receive(0, 64, {.buffer_bytes = 3072});
        }).find("2048, 4096, 8192 or 16384 bytes, and not of 3072") != std::string::npos);
  CHECK(thrown([&] { c.open_transmit(0, 4); }).find("a multiple of 8") != std::string::npos);
}

TEST_CASE("its end resets a controller that still receives") {
  fake_controller f;
  {
    ethernet_controller c(f, "0000:02:00.0");
    c.open_receive(0x1000, 64, {});
  }
  CHECK(f.resets_seen == 3);
  CHECK(f.receive_control() == 0);
}

TEST_CASE("a PHY that was powered down is woken and negotiates, another one is left alone") {
  fake_controller f;
  const ethernet_controller first(f, "0000:02:00.0");
  CHECK(f.phy[0] == 0x1140);
  f.phy[0] = 0x0800;
  const ethernet_controller second(f, "0000:02:00.0");
  CHECK(f.phy[0] == 0x1200);
}

TEST_CASE("what a controller does not do is said, and nothing waits for ever") {
  const auto says = [](auto change, const char* what) {
    fake_controller f;
    change(f);
    return problem_of(f).find(what) != std::string::npos;
  };
  CHECK(says([](auto& f) { f.is_gone = true; }, "its registers read nothing"));
  CHECK(says([](auto& f) { f.resets = false; }, "waited 1 s for its reset in vain"));
  CHECK(says([](auto& f) { f.has_address = false; }, "its NVM has no hardware address"));
  CHECK(says([](auto& f) { f.phy_answers = false; }, "its PHY does not answer"));
}

TEST_CASE("statistics are those since the last look") {
  fake_controller f;
  ethernet_controller c(f, "0000:02:00.0");
  f.at[registers::good_received] = 5;
  f.at[registers::missed] = 2;
  const auto first = c.counters();
  CHECK(first.received == 5);
  CHECK(first.missed == 2);
  CHECK(c.counters().received == 0);
}
