#pragma once

#include "scene.hpp"

namespace gnstor::test {

/// A host without any right sends what it likes, in whosever name: all of it is refused.
class hostile_host {
 public:
  explicit hostile_host(scene& s) : s_(s), line_(s.shape.clients + 2, client_id(own_id), 8) {}

  void step() {
    if (!line_.is_usable()) {
      asked_ = false;
      line_.reset(s_.array);
      return line_.try_open(s_.array);
    }
    if (asked_) {
      (void)line_.channel().poll();
      const status s = line_.channel().try_wait(ticket_);
      if (s.code == status_code::would_block) {
        if (s_.now_ns > until_) line_.reset(s_.array);
        return;
      }
      asked_ = false;
      if (s.ok()) throw broken_promise{"a command of a host without rights was carried out"};
      return;
    }
    if (!s_.dice.one_in(s_.shape.forgeries)) return;
    ++s_.happened.forgeries;
    draws& d = s_.dice;
    constexpr std::uint8_t opcodes[] = {0x01, 0x02, 0x08, 0x81};
    const std::uint32_t blocks = 1 + d.below(4);
    const bool zeroes_next = d.one_in(4);
    const std::uint8_t op = zeroes_next ? 0x08 : opcodes[d.below(4)];
    const io_buffer b = line_.buffer(0, blocks);
    const std::uint16_t claimed = d.one_in(2)   ? own_id
                                  : d.one_in(2) ? scene::manager_client
                                                : std::uint16_t(10 + d.below(s_.shape.clients));
    const std::uint32_t ssd = d.below(s_.shape.ssds);
    const volume_id vid(std::uint16_t(1 + d.below(s_.shape.volumes)));
    const vba first(d.below(s_.shape.capacity));
    auto command = wire::nvme::make_read_write(
        wire::nvme::nvm_opcode::read, 0, ssd + 1,
        wire::afa::pack_slba(vid, client_id(claimed), first), blocks,
        op == 0x08 ? wire::nvme::make_empty_sgl()
                   : wire::nvme::make_keyed_sgl(b.address, blocks * block_bytes, b.rkey));
    command.opcode = op;
    command.cdw2 = s_.driver.serving().epoch + (d.one_in(4) ? d.below(3) : 0);
    if (d.one_in(4)) command.cdw12 |= wire::nvme::force_unit_access;
    const result<ticket> t = line_.channel().submit(command);
    if (!t) return;
    ticket_ = t.value;
    asked_ = true;
    until_ = s_.now_ns + 3'000'000;
  }

  void lose_power() {
    line_.lose();
    asked_ = false;
  }

 private:
  static constexpr std::uint16_t own_id = 99;

  scene& s_;
  connection line_;
  bool asked_ = false;
  ticket ticket_{};
  std::uint64_t until_ = 0;
};

}  // namespace gnstor::test
