#include "capabilities.hpp"

#include "devx_object.hpp"
#include "ifc/command.hpp"
#include "ifc/hca_capabilities.hpp"
#include "ifc/mailbox.hpp"
#include <gnstor/qp/nic_queue_pair.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace gnstor::host::mlx5 {
namespace {

using answer_mailbox = ifc::mailbox<ifc::query_hca_cap::answer_bits>;

void query(ibv_context* on, std::uint64_t which, answer_mailbox& out) {
  ifc::mailbox<ifc::query_hca_cap::bits> in;
  in.put(ifc::command::opcode, static_cast<std::uint64_t>(ifc::opcode::query_hca_cap));
  in.put(ifc::command::modifier, which);
  const int outcome = mlx5dv_devx_general_cmd(on, in.bytes().data(), in.bytes().size(),
                                              out.bytes().data(), out.bytes().size());
  if (outcome != 0) {
    throw command_error(
        fmt::format("asking {} for its capabilities", ibv_get_device_name(on->device)),
        outcome > 0 ? outcome : errno, out.bytes());
  }
}

}  // namespace

capabilities capabilities::of(ibv_context* on) {
  namespace cap = ifc::general_capability;
  answer_mailbox out;
  query(on, ifc::query_hca_cap::general_now, out);
  const auto read = [&out](ifc::field f) {
    return static_cast<std::uint32_t>(out.get(f.at(ifc::query_hca_cap::capability)));
  };
  capabilities c;
  c.cqe_version = read(cap::cqe_version);
  c.log_max_qp_entries = read(cap::log_max_qp_entries);
  c.log_max_cq_entries = read(cap::log_max_cq_entries);
  c.log_max_reads_sent = read(cap::log_max_reads_sent);
  c.log_max_reads_served = read(cap::log_max_reads_served);
  c.log_max_message_bytes = read(cap::log_max_message_bytes);
  c.log_blue_flame_bytes = read(cap::log_blue_flame_bytes);
  c.reliable_connection = read(cap::reliable_connection) != 0;
  c.cq_ignore_overrun = read(cap::cq_ignore_overrun) != 0;
  if (read(cap::roce) != 0) {
    out = answer_mailbox{};
    query(on, ifc::query_hca_cap::roce_now, out);
    c.qp_timestamp_format = read(ifc::roce_capability::qp_timestamp_format);
  }
  return c;
}

void capabilities::require(const std::string& device, std::uint32_t depth) const {
  const auto refuse = [&device](const std::string& why) {
    throw error(
        fmt::format("{} cannot take queues of GPU kernels: {}; use the proxy", device, why));
  };
  if (cqe_version != 1) {
    refuse(fmt::format("its completion entries have version {}, not 1 (ConnectX-4 or later)",
                       cqe_version));
  }
  if (!reliable_connection) refuse("it has no reliable connections");
  if (!cq_ignore_overrun) refuse("its completion queues cannot ignore overrun");
  static_assert(nic_queue_pair::blocks == 2,
                "the send ring has more blocks than there are receives");
  const auto blocks = std::bit_width(nic_queue_pair::blocks * depth) - 1u;
  const auto completions = std::bit_width(mlx5_queue_layout::completion_entries(depth)) - 1u;
  if (blocks > log_max_qp_entries || completions > log_max_cq_entries) {
    const int most = static_cast<int>(std::min(log_max_qp_entries, log_max_cq_entries)) - 1;
    if (most < 2) refuse("its queues are too short");
    throw input_error(fmt::format("a queue depth of {} is more than {} can take: use at most {}",
                                  depth, device, 1u << most));
  }
}

}  // namespace gnstor::host::mlx5
