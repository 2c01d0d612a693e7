#pragma once

#include <gnstor/host/error.hpp>
#include <gnstor/pcie/pcie_device.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/ethernet/mac_address.hpp>
#include <gnstor/wire/intel/registers_82574.hpp>

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace gnstor::host::pcie {

/// An Ethernet controller of the kind 82574, driven from user space: reset, its link asked for, and
/// given one ring pair whose memory and tails are somebody else's to use. It raises no interrupts.
/// 82574 datasheet, 4.6 (initialization).
///
/// One thread at a time. Its end resets the controller: it touches no memory afterwards.
class ethernet_controller {
 public:
  using registers = wire::intel::registers_82574;

  /// Resets it. Throws `error` where it does not answer.
  /// @param name for messages: "0000:02:00.0"
  ethernet_controller(pcie_device& device, std::string name)
      : device_(&device), name_(std::move(name)) {
    restart();
    for (std::uint32_t k = 0; k < registers::multicast_words; ++k)
      device_->write32(registers::multicast_table + 4 * k, 0);
    device_->write32(registers::receive_filter, registers::extended_descriptors);
    device_->write32(registers::receive_checksums,
                     registers::check_ip | registers::check_transport);
    device_->write32(registers::gap, registers::usual_gap);
    read_address();
    ask_for_link();
    (void)counters();  // of whoever had it before
  }
  ethernet_controller(const ethernet_controller&) = delete;
  ethernet_controller& operator=(const ethernet_controller&) = delete;
  ~ethernet_controller() {
    try {
      restart();
    } catch (const std::exception&) {
      // It is gone, or deaf: nothing reaches memory through it but by a fault of the bus.
    }
  }

  /// Of its NVM.
  const wire::ethernet::mac_address& address() const { return address_; }
  bool has_link() const { return (device_->read32(registers::status) & registers::link_up) != 0; }
  /// Mb/s, while there is a link.
  std::uint32_t speed() const {
    constexpr std::uint32_t speeds[] = {10, 100, 1000, 1000};
    return speeds[device_->read32(registers::status) >> registers::speed_shift & 3];
  }

  /// Who may be received from, and what.
  struct receive_options {
    std::uint32_t buffer_bytes = 2048;  ///< 2048, 4096, 8192 or 16384; more than 2048: long frames
    bool promiscuous = false;           ///< frames for any address
  };
  /// Gives it a ring of `depth` zeroed descriptors and enables it. Throws `input_error`.
  void open_receive(std::uint64_t ring, std::uint32_t depth, const receive_options& o) {
    const std::uint32_t size = registers::buffer_size(o.buffer_bytes);
    if (size == ~std::uint32_t{0}) {
      throw input_error(fmt::format(
          "{}: this controller has buffers of 2048, 4096, 8192 or 16384 bytes, and not of {}",
          name_, o.buffer_bytes));
    }
    set_ring(registers::receive(0), ring, depth);
    device_->write32(registers::receive_thresholds, registers::write_back_each);
    std::uint32_t control = size | registers::broadcast | registers::strip_check_sequence;
    if (o.buffer_bytes > 2048) control |= registers::long_frames;
    if (o.promiscuous) control |= registers::any_unicast | registers::any_multicast;
    device_->write32(registers::receive_control, control | registers::receive(0).enable);
  }
  /// The same for frames to send.
  void open_transmit(std::uint64_t ring, std::uint32_t depth) {
    set_ring(registers::transmit(0), ring, depth);
    device_->write32(registers::transmit_thresholds, registers::transmit_write_back);
    device_->write32(registers::transmit_control,
                     registers::pad_short | registers::collisions | registers::transmit(0).enable);
  }
  /// Disables a ring and waits until nothing of it is under way.
  void close_receive() { disable(registers::receive_control); }
  void close_transmit() { disable(registers::transmit_control); }

  /// Frames since the last call.
  struct counts {
    std::uint32_t received, sent, missed, damaged, undersize, oversize;
  };
  counts counters() {
    return {device_->read32(registers::good_received),
            device_->read32(registers::good_sent),
            device_->read32(registers::missed),
            device_->read32(registers::check_sequence_errors),
            device_->read32(registers::undersize),
            device_->read32(registers::oversize)};
  }

 private:
  static constexpr auto settle = std::chrono::milliseconds(10);

  void set_ring(const wire::intel::ring_registers& r, std::uint64_t ring, std::uint32_t depth) {
    constexpr std::uint32_t entry_bytes = 16;
    if (depth % 8 != 0) {
      throw input_error(
          fmt::format("{}: a ring of {} descriptors: use a multiple of 8", name_, depth));
    }
    device_->write32(r.base_low, static_cast<std::uint32_t>(ring));
    device_->write32(r.base_high, static_cast<std::uint32_t>(ring >> 32));
    device_->write32(r.bytes, depth * entry_bytes);
    device_->write32(r.head, 0);
    device_->write32(r.tail, 0);
  }
  void disable(std::uint32_t control) {
    device_->write32(control, 0);
    (void)device_->read32(registers::status);  // the write has arrived
    std::this_thread::sleep_for(settle);       // what was on the bus, too
  }

  /// Reset of the MAC, with interrupts off before and after.
  void restart() {
    if (device_->read32(registers::status) == ~0u) {
      throw error(
          name_ +
          ": its registers read nothing: it was removed, or its memory space is not enabled");
    }
    device_->write32(registers::interrupts_off, ~0u);
    device_->write32(registers::receive_control, 0);
    device_->write32(registers::transmit_control, registers::pad_short);
    (void)device_->read32(registers::status);
    std::this_thread::sleep_for(settle);
    const std::uint32_t before = device_->read32(registers::control);
    device_->write32(registers::control, before | registers::reset);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    await("its reset", registers::control, registers::reset, 0);
    await("its NVM to be read", registers::nvm_control, registers::nvm_was_read,
          registers::nvm_was_read);
    device_->write32(registers::interrupts_off, ~0u);
    (void)device_->read32(registers::interrupt_cause);
  }
  /// Waits until bit `mask` of a register is as wanted. Throws `error`.
  void await(const char* what, std::uint32_t offset, std::uint32_t mask, std::uint32_t wanted) {
    for (until wait{simt::within(std::chrono::seconds(1))}; wait;) {
      if ((device_->read32(offset) & mask) == wanted) return;
    }
    throw error(fmt::format("{}: waited 1 s for {} in vain", name_, what));
  }

  void read_address() {
    const std::uint32_t low = device_->read32(registers::address_low);
    const std::uint32_t high = device_->read32(registers::address_high);
    for (std::uint32_t k = 0; k < 6; ++k)
      address_.byte[k] = static_cast<std::uint8_t>(k < 4 ? low >> 8 * k : high >> 8 * (k - 4));
    if ((high & registers::address_valid) == 0 || address_.is_group())
      throw error(name_ + ": its NVM has no hardware address");
  }

  /// Link by auto-negotiation. Whoever had the controller may have powered the PHY down. IEEE
  /// 802.3, 22.2.4.1 (control register).
  void ask_for_link() {
    const std::uint32_t before = device_->read32(registers::control);
    device_->write32(
        registers::control,
        (before & ~(registers::force_speed | registers::force_duplex)) | registers::set_link_up);
    constexpr std::uint32_t control_register = 0;
    constexpr std::uint16_t restarts = 1u << 9, powered_down = 1u << 11, negotiates = 1u << 12;
    const std::uint16_t now = phy(registers::phy_read(control_register));
    if ((now & powered_down) == 0 && (now & negotiates) != 0) return;
    (void)phy(registers::phy_write(
        control_register,
        static_cast<std::uint16_t>((now & ~powered_down) | negotiates | restarts)));
  }
  std::uint16_t phy(std::uint32_t access) {
    device_->write32(registers::phy_access, access);
    await("its PHY", registers::phy_access, registers::phy_done, registers::phy_done);
    const std::uint32_t said = device_->read32(registers::phy_access);
    if ((said & registers::phy_error) != 0) throw error(name_ + ": its PHY does not answer");
    return static_cast<std::uint16_t>(said);
  }

  pcie_device* device_;
  std::string name_;
  wire::ethernet::mac_address address_{};
};

}  // namespace gnstor::host::pcie
