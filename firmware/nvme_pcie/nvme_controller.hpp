#pragma once

#include <gnstor/wire/nvme/completion_entry.hpp>
#include <gnstor/wire/nvme/io_queue.hpp>

#include <nvme_pcie/nvme_back_end.hpp>

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace gnstor::fw {

/// The registers of an emulated local NVMe controller, and its admin queue: everything but the I/O
/// queues, which `nvme_service` serves.
///
/// A write to a register is carried out before it returns, as by a hypervisor that traps it; so is
/// an admin command when its doorbell is rung. Any thread may call. NVMe Base 2.3, 3.1.4 and 5.
class nvme_controller {
 public:
  struct options {
    std::string serial;
    std::string model = "gnstor emulated NVMe controller";
    std::uint32_t max_entries = 2048;         ///< of an I/O queue: a power of two
    std::uint32_t max_transfer = 128 << 10;   ///< bytes: 4096 << n
    std::uint32_t* doorbells = nullptr;       ///< that the workers look at: admin's two come first
    std::uint32_t* near_doorbells = nullptr;  ///< of queues in the memory of the workers' own
                                              ///< device, which the host does not reach
    std::uint32_t stride_bytes = 128;         ///< between them: a power of two from 4 on
    bool volatile_cache = false;              ///< writes outlive a power cut only after a Flush
  };

  /// @param node whose queues and namespaces it governs; outlives it, as does `back`
  nvme_controller(const nvme_node& node, nvme_back_end& back, options o);

  /// Reads a register; all ones where there is none, as a bus does. `bytes` is 4 or 8.
  std::uint64_t read(std::uint64_t offset, std::uint32_t bytes);
  void write(std::uint64_t offset, std::uint64_t value, std::uint32_t bytes);

  /// As if the controller were pulled out of its slot: registers read all ones, nothing is answered
  /// any more.
  void remove();
  /// Reports an event to the host, if it has asked for one: DW0 of the answer.
  void report(std::uint32_t event);

 private:
  using command = wire::nvme::submission_entry;
  /// What an admin command comes to: its status field, and dword 0.
  struct outcome {
    std::uint16_t status = 0;
    std::uint32_t value = 0;
    bool later = false;  ///< it is answered when there is something to say
  };

  void configure(std::uint32_t value);
  bool may_enable() const;
  void reset();
  void serve_admin(std::uint32_t tail);
  void answer(std::uint16_t id, const outcome& o);

  outcome execute(const command& c);
  outcome identify(const command& c);
  outcome log_page(const command& c);
  outcome set_feature(const command& c);
  outcome get_feature(const command& c);
  outcome create_completions(const command& c);
  outcome create_submissions(const command& c);
  void put_changes(nvme_queue* at, const nvme_queue& kept, const nvme_queue& now);
  outcome delete_submissions(const command& c);
  outcome delete_completions(const command& c);
  bool drain(std::uint32_t index);
  outcome reply(const command& c, const void* data, std::size_t bytes);
  std::uint32_t* doorbell(std::uint32_t number, bool near) const {
    return (near ? options_.near_doorbells : options_.doorbells) +
           std::uint64_t{number} * options_.stride_bytes / 4;
  }

  std::mutex use_;
  nvme_node node_;
  nvme_back_end* back_;
  options options_;
  std::uint32_t configuration_ = 0;
  std::uint32_t status_ = 0;
  std::uint32_t admin_attributes_ = 0;
  std::uint64_t admin_submissions_ = 0;
  std::uint64_t admin_completions_ = 0;
  std::uint32_t admin_head_ = 0;     ///< entries fetched
  std::uint64_t admin_answers_ = 0;  ///< entries written
  std::uint32_t arbitration_ = 7;
  std::uint32_t events_wanted_ = 0;
  std::uint32_t cache_enabled_ = 1;
  std::deque<std::uint16_t> event_requests_;
  std::vector<nvme_queue> queues_;     ///< as they were created; id 0: there is none
  std::vector<bool> has_completions_;  ///< completion queue `k` + 1 exists
  bool removed_ = false;
};

}  // namespace gnstor::fw
