/// Descriptors of Intel's Ethernet controllers against bytes laid by hand from the datasheets.

#include "hex.hpp"
#include <gnstor/wire/intel/advanced_receive.hpp>
#include <gnstor/wire/intel/advanced_transmit.hpp>
#include <gnstor/wire/intel/extended_receive.hpp>
#include <gnstor/wire/intel/extended_transmit.hpp>
#include <gnstor/wire/intel/legacy_receive.hpp>
#include <gnstor/wire/intel/registers_82574.hpp>
#include <gnstor/wire/intel/registers_82599.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace {

namespace intel = gnstor::wire::intel;
using gnstor::test::hex;
using intel::frame_error;

/// What a NIC wrote back, byte by byte.
struct image {
  unsigned char byte[16];
  intel::descriptor read() const {
    intel::descriptor d;
    std::memcpy(&d, byte, sizeof d);
    return d;
  }
};

/// What a format reads in it.
struct reading {
  bool done;
  bool ends;
  std::uint32_t length;
  frame_error error;
  bool operator==(const reading&) const = default;
};

template <class Format>
reading read(const image& i) {
  intel::descriptor d = i.read();
  const std::uint32_t done = Format::done_word(d);
  return {(done & intel::descriptor_done) != 0, Format::ends_packet(done),
          Format::length(done, Format::other_word(d)), Format::error(done)};
}

}  // namespace

TEST_CASE("an advanced descriptor says DD, EOP, 1514 bytes, and good checksums") {
  const image i{{0x01, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 0x63, 0, 0, 0, 0xea, 0x05, 0, 0}};
  CHECK(read<intel::advanced_receive>(i) == reading{true, true, 1514, frame_error::none});
}

TEST_CASE("an advanced descriptor says the RSS hash and over what it was computed") {
  const image i{{0xf7, 0xff, 0xff, 0xff, 0x78, 0x56, 0x34, 0x12, 3, 0, 0, 0, 60, 0, 0, 0}};
  CHECK(intel::advanced_receive::hash_type(i.read()) == intel::rss_type::ipv4_udp);
  CHECK(intel::advanced_receive::hash(i.read()) == 0x12345678);
  intel::descriptor d{};
  d.address = intel::advanced_receive::hashed(intel::rss_type::ipv6_tcp, 0xfedcba98);
  CHECK(d.address == 0xfedcba9800000003);
}

TEST_CASE("an advanced descriptor's errors are distinguished") {
  const auto with = [](unsigned char status, unsigned char errors) {
    return read<intel::advanced_receive>(
        image{{0, 0, 0, 0, 0, 0, 0, 0, status, 0, 0, errors, 60, 0, 0, 0}});
  };
  CHECK(with(0x03, 0x01).error == frame_error::check_sequence);
  CHECK(with(0x03, 0x02).error == frame_error::length);
  CHECK(with(0x03, 0x10).error == frame_error::length);
  CHECK(with(0x03, 0x20).error == frame_error::length);
  CHECK(with(0x03, 0x08).error == frame_error::other);
  CHECK(with(0x43, 0x80).error == frame_error::checksum);
  CHECK(with(0x23, 0x40).error == frame_error::checksum);
  // What the NIC did not check, it found nothing about.
  CHECK(with(0x03, 0xc0).error == frame_error::none);
}

TEST_CASE("an extended descriptor has the same words and other errors") {
  const auto with = [](unsigned char status, unsigned char errors) {
    return read<intel::extended_receive>(
        image{{0, 0, 0, 0, 0, 0, 0, 0, status, 0, 0, errors, 60, 0, 0, 0}});
  };
  CHECK(with(0x03, 0) == reading{true, true, 60, frame_error::none});
  CHECK(with(0x01, 0) == reading{true, false, 60, frame_error::none});
  CHECK(with(0x03, 0x01).error == frame_error::check_sequence);
  CHECK(with(0x03, 0x80).error == frame_error::other);
  CHECK(with(0x43, 0x40).error == frame_error::checksum);
  CHECK(with(0x23, 0x20).error == frame_error::checksum);
  CHECK(with(0x67, 0x60).error == frame_error::none);
  // Bit 30 is a transport error of an 82599 and an IP error of an 82574.
  CHECK(with(0x23, 0x40).error == frame_error::none);
}

TEST_CASE("a legacy descriptor has its length first and its status behind") {
  const auto with = [](unsigned char status, unsigned char errors) {
    return read<intel::legacy_receive>(
        image{{0, 0, 0, 0, 0, 0, 0, 0, 0xea, 0x05, 0xff, 0xff, status, errors, 0, 0}});
  };
  CHECK(with(0x03, 0) == reading{true, true, 1514, frame_error::none});
  CHECK(with(0x02, 0).done == false);
  CHECK(with(0x03, 0x01).error == frame_error::check_sequence);
  CHECK(with(0x43, 0x40).error == frame_error::checksum);
  CHECK(with(0x23, 0x20).error == frame_error::checksum);
}

TEST_CASE("a frame of 60 bytes is sent by these bytes, with a status report") {
  CHECK(hex(intel::advanced_transmit::frame(0x1122334455667788, 60)) ==
        "88776655 44332211 3c00302b 00000f00");
  CHECK(hex(intel::extended_transmit::frame(0x1122334455667788, 60)) ==
        "88776655 44332211 3c00102b 00000000");
}

TEST_CASE("a transmit descriptor of another type is no frame") {
  const auto advanced = intel::advanced_transmit::frame(0x1000, 1514);
  const auto extended = intel::extended_transmit::frame(0x1000, 1514);
  CHECK(intel::advanced_transmit::is_data(advanced));
  CHECK(intel::advanced_transmit::length(advanced) == 1514);
  CHECK_FALSE(intel::advanced_transmit::is_data(extended));
  CHECK_FALSE(intel::extended_transmit::is_data(advanced));
  CHECK(intel::extended_transmit::length(extended) == 1514);
}

TEST_CASE("the registers of queue 63 are the last before those of queue 64") {
  CHECK(intel::registers_82599::receive(63).tail == 0x1fd8);
  CHECK(intel::registers_82599::transmit(63).head == 0x6fd0);
  CHECK(intel::registers_82574::receive(1).head == 0x2910);
}

TEST_CASE("an 82574's registers and bits are those of Linux's e1000e") {
  using r = intel::registers_82574;
  const struct {
    std::uint32_t ours, theirs;
  } numbers[] = {
      // regs.h: CTRL, STATUS, EECD, MDIC, ICR, IMC, RCTL, TCTL, TIPG, RXDCTL, TXDCTL, RXCSUM,
      // RFCTL,
      // MTA, RAL, RAH, CRCERRS, MPC, GPRC, GPTC, RUC, ROC
      {r::control, 0x00000},
      {r::status, 0x00008},
      {r::nvm_control, 0x00010},
      {r::phy_access, 0x00020},
      {r::interrupt_cause, 0x000c0},
      {r::interrupts_off, 0x000d8},
      {r::receive_control, 0x00100},
      {r::transmit_control, 0x00400},
      {r::gap, 0x00410},
      {r::receive_thresholds, 0x02828},
      {r::transmit_thresholds, 0x03828},
      {r::receive_checksums, 0x05000},
      {r::receive_filter, 0x05008},
      {r::multicast_table, 0x05200},
      {r::address_low, 0x05400},
      {r::address_high, 0x05404},
      {r::check_sequence_errors, 0x04000},
      {r::missed, 0x04010},
      {r::good_received, 0x04074},
      {r::good_sent, 0x04080},
      {r::undersize, 0x040a4},
      {r::oversize, 0x040ac},
      // defines.h: CTRL_SLU, _FRCSPD, _FRCDPX, _RST; STATUS_LU; EECD_AUTO_RD; RCTL_UPE, _MPE, _LPE,
      // _BAM, _SECRC, _BSEX with _SZ_4096, _8192, _16384; TCTL_PSP; RXCSUM_TUOFL; RFCTL_EXTEN;
      // RAH_AV; MDIC_READY, _ERROR, and _OP_READ, _OP_WRITE of PHY 1
      {r::set_link_up, 0x00000040},
      {r::force_speed, 0x00000800},
      {r::force_duplex, 0x00001000},
      {r::reset, 0x04000000},
      {r::link_up, 0x00000002},
      {r::nvm_was_read, 0x00000200},
      {r::any_unicast, 0x00000008},
      {r::any_multicast, 0x00000010},
      {r::long_frames, 0x00000020},
      {r::broadcast, 0x00008000},
      {r::strip_check_sequence, 0x04000000},
      {r::buffer_size(4096), 0x02030000},
      {r::buffer_size(8192), 0x02020000},
      {r::buffer_size(16384), 0x02010000},
      {r::pad_short, 0x00000008},
      {r::check_transport, 0x00000200},
      {r::extended_descriptors, 0x00008000},
      {r::address_valid, 0x80000000},
      {r::phy_done, 0x10000000},
      {r::phy_error, 0x40000000},
      {r::phy_read(0x1f), 0x083f0000},
      {r::phy_write(0, 0x1140), 0x04201140},
  };
  for (const auto& n : numbers) CHECK(n.ours == n.theirs);
}
