#include <gnstor/host/error.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <link/nic_link.hpp>

#include <fmt/format.h>

#include <cstddef>

namespace gnstor::host {

packet_flow::packet_flow(nic& where, const packet_flow_options& options)
    : link_(&where.link()), model_(link_->model()), options_(options) {
  if (options_.depth == 0) options_.depth = link_->usual_depth();
  if (options_.depth > link_->most_depth()) {
    throw input_error(fmt::format("packet_flow: depth {}: the NIC's rings have {} at most",
                                  options_.depth, link_->most_depth()));
  }
  if (options_.buffer_bytes < 2048 || options_.buffer_bytes > 16384 ||
      options_.buffer_bytes % 1024 != 0) {
    throw input_error(fmt::format(
        "packet_flow: buffer_bytes {}: NICs count buffers in KiB; use 2048 to 16384, a multiple of "
        "1024",
        options_.buffer_bytes));
  }
  shape_.lanes = options_.depth;
  shape_.buffers = options_.buffers;
  shape_.bytes = options_.buffer_bytes;
  // One buffer per page where that is wanted and can be.
  const std::uint32_t page = link_->frame_boundary();
  if (shape_.stride() <= page) shape_.tailroom = page - shape_.headroom - shape_.bytes;
  path_.turn = options_.turn;
  path_.applications = options_.applications;
  path_.sends = options_.send_port != options_.no_port;
  path_.drain_ns = options_.drain.ns();
  path_.pool = packet_pool(shape_, nullptr, nullptr, 0);
  ring_words words;
  words.depth = options_.depth;
  path_.receive = receive_ring<wire::intel::advanced_receive>(words);
  path_.transmit = transmit_ring<wire::intel::advanced_transmit>(words);
  if (options_.receive_port == options_.no_port && !path_.sends && options_.applications == 0)
    throw input_error("packet_flow: neither a port nor an application: nothing would be done");
  if (const char* const problem = path_.problem()) {
    throw input_error(fmt::format("packet_flow: {} (depth {}, turn {}, buffers {})", problem,
                                  options_.depth, options_.turn, options_.buffers));
  }
  lay_out();
  try {
    open_rings();
  } catch (...) {
    close();
    throw;
  }
}

packet_flow::~packet_flow() { close(); }

void packet_flow::close() noexcept {
  const packet_flow_options& o = options_;
  if (receives_) link_->close_ring(o.receive_port, o.receive_queue, ring_direction::receive);
  if (sends_) link_->close_ring(o.send_port, o.send_queue, ring_direction::transmit);
  link_->stop_with_frames(stop_, false);
  link_->unmap(dma_);
}

void packet_flow::lay_out() {
  const auto take = [](std::size_t& bytes, std::size_t count, std::size_t each) {
    const std::size_t at = bytes;
    bytes = (bytes + count * each + 127) / 128 * 128;
    return at;
  };
  const std::size_t lanes = shape_.lanes;
  const std::size_t ring = lanes * sizeof(wire::intel::descriptor);
  std::size_t bytes = 0;
  const std::size_t data = take(bytes, 1, shape_.data_bytes());
  const std::size_t receive = take(bytes, 1, ring);
  const std::size_t transmit = take(bytes, 1, ring);
  const std::size_t stop = take(bytes, 1, sizeof(std::uint32_t));
  memory_ = link_->allocate(bytes);
  auto* const base = static_cast<unsigned char*>(memory_.data());
  stop_ = reinterpret_cast<std::uint32_t*>(base + stop);

  std::size_t words = 0;
  const std::size_t control = take(words, 1, sizeof(packet_control));
  const std::size_t states = take(words, shape_.buffers, sizeof(packet_state));
  const std::size_t arrived = take(words, path_.turns(), sizeof(std::uint32_t));
  const std::size_t progress =
      take(words, (options_.applications + 1) * lanes, sizeof(std::uint32_t));
  const std::size_t sending = take(words, lanes, sizeof(std::uint32_t));
  own_ = link_->allocate_words(words);
  auto* const own = static_cast<unsigned char*>(own_.data());
  own_.write(control + offsetof(packet_control, stop), &stop_, sizeof stop_);
  // Last, as nothing may throw behind it. The NIC reaches buffers and rings alone.
  dma_ = link_->map(base, stop);
  path_.pool =
      packet_pool(shape_, reinterpret_cast<packet_state*>(own + states), base + data, dma_ + data);
  path_.control = reinterpret_cast<packet_control*>(own + control);
  path_.arrived = reinterpret_cast<std::uint32_t*>(own + arrived);
  path_.progress = reinterpret_cast<std::uint32_t*>(own + progress);
  path_.sending = reinterpret_cast<std::uint32_t*>(own + sending);
  receive_ring_at_ = receive;
  transmit_ring_at_ = transmit;
}

void packet_flow::open_rings() {
  auto* const base = static_cast<unsigned char*>(memory_.data());
  const auto open = [&](std::uint32_t port, std::uint32_t queue, ring_direction way,
                        std::size_t at) {
    nic_link::ring_memory m;
    m.entries = reinterpret_cast<wire::intel::descriptor*>(base + at);
    m.dma = dma_ + at;
    m.depth = shape_.lanes;
    m.buffer_bytes = shape_.bytes;
    return link_->open_ring(port, queue, way, m);
  };
  if (path_.sends) {
    path_.transmit = transmit_ring<wire::intel::advanced_transmit>(
        open(options_.send_port, options_.send_queue, ring_direction::transmit, transmit_ring_at_));
    sends_ = true;
  }
  if (options_.receive_port == options_.no_port) return;
  path_.receive = receive_ring<wire::intel::advanced_receive>(open(
      options_.receive_port, options_.receive_queue, ring_direction::receive, receive_ring_at_));
  receives_ = true;
  link_->stop_with_frames(stop_, true);
}

void packet_flow::begin(bool receives, std::size_t applications) {
  if (receives != receives_) {
    throw input_error(receives ? "packet_flow: it has no receive_port: use spawn_source"
                               : "packet_flow: it has a receive_port, and so no source: use spawn");
  }
  if (has_begun_)
    throw input_error("packet_flow: its kernels were spawned before; make another flow");
  if (applications != options_.applications) {
    throw input_error(fmt::format("packet_flow: {} applications are given, {} were announced",
                                  applications, options_.applications));
  }
  has_begun_ = true;
}

void packet_flow::stop() {
  if (memory_.where() != place::device) return system_word<std::uint32_t>(*stop_).store(1, release);
  const std::uint32_t yes = 1;
  const auto at =
      reinterpret_cast<unsigned char*>(stop_) - static_cast<unsigned char*>(memory_.data());
  memory_.write(static_cast<std::size_t>(at), &yes, sizeof yes);
}

std::uint64_t packet_flow::count(packet_cause cause) const {
  packet_counters& counters = path_.control->counters;
  if (own_.where() == place::host) return counters.read(cause);
  packet_counters now;
  const auto at =
      reinterpret_cast<unsigned char*>(&counters) - static_cast<unsigned char*>(own_.data());
  own_.read(static_cast<std::size_t>(at), &now, sizeof now);
  return now.read(cause);
}

}  // namespace gnstor::host
