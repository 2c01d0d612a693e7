#include "reliable_queue.hpp"

#include "ifc/command.hpp"
#include "ifc/mailbox.hpp"
#include "ifc/queue_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>

namespace gnstor::host::mlx5 {
namespace {

namespace qp = ifc::qp_context;

constexpr std::uint64_t ack_every = 8;  ///< log2 of the packets between two requests for an ACK

/// A command that moves a queue pair on, with what each of them says.
class transition {
 public:
  transition(ifc::opcode which, std::uint32_t number) {
    in_.put(ifc::command::opcode, static_cast<std::uint64_t>(which));
    in_.put(ifc::modify_qp::number, number);
  }
  void put(ifc::field f, std::uint64_t value) { in_.put(f.at(ifc::modify_qp::context), value); }
  void put_path(ifc::field f, std::uint64_t value) { put(f.at(qp::primary_path), value); }
  std::span<unsigned char> bytes() { return in_.bytes(); }

 private:
  ifc::mailbox<ifc::modify_qp::bits> in_;
};

/// log2 of a number of RDMA READs in flight, rounded up as the wire's field is, within a limit.
std::uint64_t log_reads(std::uint32_t reads, std::uint32_t log_most) {
  if (reads <= 1) return 0;
  return std::min<std::uint64_t>(std::bit_width(reads - 1), log_most);
}

devx_object create(const queue_block& block, std::uint32_t index,
                   const completion_queue& completions, bool scatter, std::uint32_t& number) {
  const std::uint64_t base = block.offset(index);
  const mlx5_queue_layout layout = block.layout();
  const std::uint32_t receives = mlx5_queue_layout::receive_entries(block.depth());
  ifc::mailbox<ifc::create_qp::bits> in;
  const auto put = [&in](ifc::field f, std::uint64_t value) {
    in.put(f.at(ifc::create_qp::context), value);
  };
  in.put(ifc::command::opcode, static_cast<std::uint64_t>(ifc::opcode::create_qp));
  put(qp::service_type, 0);
  put(qp::migration_state, qp::migrated);
  put(qp::protection_domain, block.device().domain_number());
  put(qp::uar_page, block.device().doorbells().number());
  put(qp::user_index, index);
  put(qp::send_cq, completions.number());
  put(qp::receive_cq, completions.number());
  put(qp::receive_queue_type, 0);
  put(qp::log_receive_entries, std::bit_width(receives) - 1u);
  put(qp::log_receive_stride, std::bit_width(sizeof(wire::mlx5::data_segment) / 16) - 1u);
  put(qp::log_send_entries, std::bit_width(block.depth() * nic_queue_pair::blocks) - 1u);
  // A NIC that keeps real time may refuse a free-running clock; "default" suits both.
  put(qp::timestamp_format, block.device().can().qp_timestamp_format != 0 ? 1 : 0);
  put(qp::scatter_requester, 0);
  put(qp::scatter_responder, scatter ? qp::scatter_32_bytes : 0);
  put(qp::doorbell_umem_valid, 1);
  put(qp::doorbell_umem, block.umem_id());
  put(qp::doorbell_address, base + layout.state + offsetof(mlx5_queue_state, doorbell_record));
  in.put(ifc::create_qp::ring_umem_valid, 1);
  in.put(ifc::create_qp::ring_umem, block.umem_id());
  in.put(ifc::create_qp::ring_offset, base + layout.receive_ring);
  ifc::mailbox<ifc::answer::bits> out;
  devx_object made(block.device().context(),
                   fmt::format("creating a queue pair of {} requests on {}", block.depth(),
                               block.device().name()),
                   in.bytes(), out.bytes());
  number = static_cast<std::uint32_t>(out.get(ifc::create_qp::number));
  return made;
}

std::string step_words(const char* step, const nic& on, std::uint32_t number) {
  return fmt::format("{} queue pair {:06x}h on {}", step, number, on.name());
}

}  // namespace

reliable_queue::reliable_queue(const queue_block& block, std::uint32_t index,
                               const completion_queue& completions, bool scatter)
    : nic_(&block.device()), object_(create(block, index, completions, scatter, number_)) {}

void reliable_queue::to_init(const ibv_qp_attr& attributes) const {
  transition t(ifc::opcode::rst2init_qp, number_);
  t.put(qp::migration_state, qp::migrated);
  t.put(qp::remote_read_enable, (attributes.qp_access_flags & IBV_ACCESS_REMOTE_READ) != 0);
  t.put(qp::remote_write_enable, (attributes.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) != 0);
  t.put_path(ifc::address_path::port, attributes.port_num);
  t.put_path(ifc::address_path::pkey_index, attributes.pkey_index);
  object_.modify(step_words("initialising (RST2INIT)", *nic_, number_), t.bytes());
}

void reliable_queue::to_ready_to_receive(const ibv_qp_attr& attributes,
                                         const network_path& path) const {
  transition t(ifc::opcode::init2rtr_qp, number_);
  t.put(qp::migration_state, qp::migrated);
  t.put(qp::mtu, attributes.path_mtu);
  t.put(qp::log_message_bytes, nic_->can().log_max_message_bytes);
  t.put(qp::remote_number, attributes.dest_qp_num & 0xffffff);
  t.put(qp::next_receive_psn, attributes.rq_psn & 0xffffff);
  t.put(qp::least_rnr_timer, attributes.min_rnr_timer & 0x1f);
  t.put(qp::log_reads_served,
        log_reads(attributes.max_dest_rd_atomic, nic_->can().log_max_reads_served));
  path.put(t.bytes(), ifc::modify_qp::context + qp::primary_path, number_, attributes.dest_qp_num);
  object_.modify(step_words("opening the receiving side (INIT2RTR) of", *nic_, number_), t.bytes());
}

void reliable_queue::to_ready_to_send(const ibv_qp_attr& attributes,
                                      const network_path& path) const {
  transition t(ifc::opcode::rtr2rts_qp, number_);
  t.put(qp::log_ack_frequency, ack_every);
  t.put(qp::next_send_psn, attributes.sq_psn & 0xffffff);
  t.put(qp::retry_count, attributes.retry_cnt & 7);
  t.put(qp::rnr_retry, attributes.rnr_retry & 7);
  t.put(qp::log_reads_sent, log_reads(attributes.max_rd_atomic, nic_->can().log_max_reads_sent));
  t.put_path(ifc::address_path::ack_timeout, attributes.timeout & 0x1f);
  t.put_path(ifc::address_path::port, path.route.port_num);
  object_.modify(step_words("opening the sending side (RTR2RTS) of", *nic_, number_), t.bytes());
}

void reliable_queue::to_error() const {
  ifc::mailbox<ifc::modify_qp::to_error_bits> in;
  in.put(ifc::command::opcode, static_cast<std::uint64_t>(ifc::opcode::to_error_qp));
  in.put(ifc::modify_qp::number, number_);
  object_.modify(step_words("ending", *nic_, number_), in.bytes());
}

}  // namespace gnstor::host::mlx5
