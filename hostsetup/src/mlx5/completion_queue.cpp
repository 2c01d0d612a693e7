#include "completion_queue.hpp"

#include "ifc/command.hpp"
#include "ifc/completion_queue.hpp"
#include "ifc/mailbox.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstddef>

namespace gnstor::host::mlx5 {
namespace {

devx_object create(const queue_block& block, std::uint32_t index, std::uint32_t& number) {
  namespace cq = ifc::cq_context;
  const std::uint64_t base = block.offset(index);
  const mlx5_queue_layout layout = block.layout();
  const std::uint32_t entries = mlx5_queue_layout::completion_entries(block.depth());
  ifc::mailbox<ifc::create_cq::bits> in;
  const auto put = [&in](ifc::field f, std::uint64_t value) {
    in.put(f.at(ifc::create_cq::context), value);
  };
  in.put(ifc::command::opcode, static_cast<std::uint64_t>(ifc::opcode::create_cq));
  put(cq::entry_size, 0);
  put(cq::collapsed, 0);
  put(cq::ignore_overrun, 1);
  put(cq::log_entries, std::bit_width(entries) - 1u);
  put(cq::uar_page, block.device().doorbells().number());
  put(cq::event_queue, block.device().event_queue());
  put(cq::doorbell_umem_valid, 1);
  put(cq::doorbell_umem, block.umem_id());
  put(cq::doorbell_address, base + layout.state + offsetof(mlx5_queue_state, completion_record));
  in.put(ifc::create_cq::ring_umem_valid, 1);
  in.put(ifc::create_cq::ring_umem, block.umem_id());
  in.put(ifc::create_cq::ring_offset, base + layout.completions);
  ifc::mailbox<ifc::answer::bits> out;
  devx_object made(block.device().context(),
                   fmt::format("creating a completion queue of {} entries on {}", entries,
                               block.device().name()),
                   in.bytes(), out.bytes());
  number = static_cast<std::uint32_t>(out.get(ifc::create_cq::number));
  return made;
}

}  // namespace

completion_queue::completion_queue(const queue_block& block, std::uint32_t index)
    : object_(create(block, index, number_)) {}

}  // namespace gnstor::host::mlx5
