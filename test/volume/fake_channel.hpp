#pragma once
/// A channel that answers at once, as scripted, and remembers the commands.

#include <gnstor/channel/channel_state.hpp>
#include <gnstor/channel/ticket.hpp>
#include <gnstor/core/result.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/afa/slba.hpp>
#include <gnstor/wire/nvme/read_write.hpp>

#include <functional>
#include <vector>

namespace gnstor::test {

/// One command as the array would see it.
struct sent_command {
  bool write = false;
  std::uint32_t ssd = 0;
  wire::afa::slba where{};
  std::uint32_t blocks = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t key = 0;
  std::uint32_t epoch = 0;
};

/// What a fake channel remembers, and how its SSDs answer.
struct channel_script {
  std::vector<sent_command> sent;
  status answer[64] = {};                            ///< of each SSD
  std::function<status(const sent_command&)> judge;  ///< if set: of each command instead
  std::function<std::uint32_t()> life;               ///< if set: the phase, and resets << 8
  std::uint32_t room = 1u << 30;                     ///< requests in flight at most
  std::uint32_t in_flight = 0;
  std::vector<std::uint32_t> asked;  ///< SSD of each ticket
};

/// The channel (a reference).
class fake_channel {
 public:
  explicit fake_channel(channel_script& script) : script_(&script) {}

  result<ticket> submit(const wire::nvme::submission_entry& c) const {
    if (script_->in_flight == script_->room) {
      return status::make(status_code::would_block, reporter::channel);
    }
    ++script_->in_flight;
    sent_command s;
    s.write = c.opcode == static_cast<std::uint8_t>(wire::nvme::nvm_opcode::write);
    s.ssd = c.nsid - 1;
    s.where = wire::afa::slba::unpack(wire::nvme::slba_of(c));
    s.blocks = wire::nvme::blocks_of(c);
    s.address = c.dptr.address;
    s.bytes = c.dptr.length();
    s.key = c.dptr.key();
    s.epoch = c.cdw2;
    script_->sent.push_back(s);
    script_->asked.push_back(s.ssd);
    return ticket{command_id(static_cast<std::uint16_t>(script_->asked.size() - 1))};
  }
  bool poll() const { return false; }
  std::uint32_t life_word() const {
    return script_->life ? script_->life() : static_cast<std::uint32_t>(channel_phase::ready);
  }
  status wait(ticket t, deadline d, std::uint32_t* = nullptr) const {
    const status s = script_->judge ? script_->judge(script_->sent[t.id.value])
                                    : script_->answer[script_->asked[t.id.value]];
    if (s.code == status_code::timed_out) {
      for (until more{d}; more;) {
      }
    }
    --script_->in_flight;
    return s;
  }
  status execute(const wire::nvme::submission_entry& c, deadline d) const {
    const result<ticket> t = submit(c);
    return t ? wait(t.value, d) : t.status;
  }

 private:
  channel_script* script_;
};

}  // namespace gnstor::test
