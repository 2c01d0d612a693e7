#pragma once

#include <gnstor/wire/nvme/opcode.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <nvme_pcie/nvme_node.hpp>

namespace gnstor::fw {

/// What a command comes to.
struct nvme_job {
  unsigned char* blocks = nullptr;  ///< in memory, where the namespace is memory
  std::uint64_t offset = 0;         ///< of them in the namespace, in bytes
  std::uint32_t bytes = 0;          ///< to be moved, or cleared
  std::uint16_t status = 0;         ///< not zero: it is refused
  bool swallowed = false;           ///< it gets no answer

  GNSTOR_HD static nvme_job refused(wire::nvme::generic_status why) {
    nvme_job j;
    j.status = wire::nvme::make_status(why, true);
    return j;
  }
};

/// Checks an I/O command, and finds its blocks.
GNSTOR_HD inline nvme_job check_command(const nvme_node& node, const nvme_queue& queue,
                                        const wire::nvme::submission_entry& c) {
  using wire::nvme::generic_status;
  using wire::nvme::nvm_opcode;
  const auto load = [](const auto& word) {
    using word_type = std::remove_cvref_t<decltype(word)>;
    return system_word<word_type>(const_cast<word_type&>(word)).load(relaxed);
  };
  nvme_job j;
  const auto op = static_cast<nvm_opcode>(c.opcode);
  const bool moves = op == nvm_opcode::read || op == nvm_opcode::write;
  if (!moves && op != nvm_opcode::flush && op != nvm_opcode::write_zeroes &&
      op != nvm_opcode::dataset_management) {
    return nvme_job::refused(generic_status::invalid_opcode);
  }
  if ((c.flags & (wire::nvme::flags_data_mask | wire::nvme::flags_fused_mask)) != 0)
    return nvme_job::refused(generic_status::invalid_field);
  if (c.nsid == 0 || c.nsid > node.shape.namespaces) {
    return op == nvm_opcode::flush && c.nsid == ~0u
               ? j
               : nvme_job::refused(generic_status::invalid_namespace);
  }
  const nvme_namespace& n = node.namespaces[c.nsid - 1];
  const std::uint32_t fault = load(n.fault);
  if (fault == static_cast<std::uint32_t>(namespace_fault::silent)) j.swallowed = true;
  if (j.swallowed || op == nvm_opcode::flush || op == nvm_opcode::dataset_management) return j;
  const std::uint64_t slba = wire::nvme::slba_of(c);
  const std::uint32_t blocks = wire::nvme::blocks_of(c);
  if (slba > n.blocks || blocks > n.blocks - slba)
    return nvme_job::refused(generic_status::lba_out_of_range);
  const std::uint64_t bytes = std::uint64_t{blocks} << n.block_shift;
  if (moves && bytes > queue.max_transfer) return nvme_job::refused(generic_status::invalid_field);
  if (op == nvm_opcode::read && fault == static_cast<std::uint32_t>(namespace_fault::media_error) &&
      slba < load(n.bad_first) + load(n.bad_count) && load(n.bad_first) < slba + blocks) {
    j.status = wire::nvme::make_status(wire::nvme::media_status::unrecovered_read_error);
    return j;
  }
  j.offset = slba << n.block_shift;
  if (n.data != nullptr) j.blocks = n.data + j.offset;
  j.bytes = static_cast<std::uint32_t>(bytes);
  return j;
}

}  // namespace gnstor::fw
