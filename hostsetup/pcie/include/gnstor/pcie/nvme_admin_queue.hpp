#pragma once

#include <gnstor/core/bounded.hpp>
#include <gnstor/core/deadline.hpp>
#include <gnstor/core/status.hpp>
#include <gnstor/pcie/dma_pages.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/nvme/completion_entry.hpp>
#include <gnstor/wire/nvme/controller_register.hpp>
#include <gnstor/wire/nvme/prp.hpp>
#include <gnstor/wire/nvme/status.hpp>
#include <gnstor/wire/nvme/submission_entry.hpp>

#include <cstring>
#include <optional>

namespace gnstor::host::pcie {

/// The admin queues of an NVMe controller, used by one thread at a time: one command at a time, and
/// beside it one that is answered when the controller likes to.
class nvme_admin_queue {
 public:
  static constexpr std::uint32_t entries = 16;

  nvme_admin_queue(pcie_device& device, std::uint32_t stride_bytes)
      : device_(&device),
        stride_bytes_(stride_bytes),
        submissions_(device, entries * sizeof(wire::nvme::submission_entry)),
        completions_(device, 4096) {}

  std::uint64_t submissions() const { return submissions_.address(); }
  std::uint64_t completions() const { return completions_.address(); }

  /// Sends a command and waits for its answer; the id is filled in. One without PRPs has no data.
  /// @param value if not null, dword 0 of the answer
  /// @par Errors nvme_error with the controller's status; timed_out: the controller has to be reset
  /// before anything that the command names is given away
  status execute(wire::nvme::submission_entry command, deadline d, std::uint32_t* value = nullptr) {
    command.command_id = static_cast<std::uint16_t>(sent_ & 0x7fff);
    if ((command.flags & wire::nvme::flags_data_mask) != 0) wire::nvme::set_prp(command, {});
    send(command);
    for (until more{d}; more;) {
      wire::nvme::completion_entry answer;
      if (!take(answer)) continue;
      if (answer.command_id != command.command_id) continue;  // of one given up
      if (value != nullptr) *value = answer.dw0;
      return outcome(answer.status);
    }
    return status::make(status_code::timed_out, reporter::channel);
  }

  /// Sends a command without data that is answered at some time: Asynchronous Event Request. Not
  /// before the one before has been answered.
  void send_late(wire::nvme::submission_entry command) {
    command.command_id = late_id;
    wire::nvme::set_prp(command, {});
    late_.reset();
    send(command);
  }
  /// Its answer, if that has come.
  const std::optional<wire::nvme::completion_entry>& late() {
    wire::nvme::completion_entry answer;
    for (bounded some{entries}; some && !late_ && take(answer);) {
      // Others are of commands given up.
    }
    return late_;
  }

 private:
  static constexpr std::uint16_t late_id = 0x8000;

  void send(const wire::nvme::submission_entry& command) {
    std::memcpy(submissions_.data() + sent_ % entries * sizeof command, &command, sizeof command);
    ++sent_;
    device_->write32(wire::nvme::tail_doorbell_offset(0, stride_bytes_), sent_ % entries);
  }

  static status outcome(std::uint16_t field) {
    if ((field & ~wire::nvme::status_phase) == 0) return {};
    status s = status::make(status_code::nvme_error, reporter::ssd);
    s.nvme_type = wire::nvme::status_type(field);
    s.nvme_code = wire::nvme::status_code(field);
    return s;
  }

  /// Takes the next answer. False if there is none.
  bool take(wire::nvme::completion_entry& answer) {
    auto* words = reinterpret_cast<std::uint32_t*>(
        completions_.data() + taken_ % entries * sizeof(wire::nvme::completion_entry));
    // Paired with the controller's last write of the entry.
    const std::uint32_t last = system_word<std::uint32_t>(words[3]).load(acquire);
    const bool phase = (last >> 16 & wire::nvme::status_phase) != 0;
    if (phase != (taken_ / entries % 2 == 0)) return false;
    std::memcpy(&answer, words, sizeof answer);
    ++taken_;
    if (answer.command_id == late_id) late_ = answer;
    device_->write32(wire::nvme::head_doorbell_offset(0, stride_bytes_), taken_ % entries);
    return true;
  }

  pcie_device* device_;
  std::uint32_t stride_bytes_;
  dma_pages submissions_;
  dma_pages completions_;
  std::uint32_t sent_ = 0;
  std::uint32_t taken_ = 0;
  std::optional<wire::nvme::completion_entry> late_;
};

}  // namespace gnstor::host::pcie
