#include "admin_queue.hpp"

#include "connect_record.hpp"
#include "words.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/fabrics/capsule.hpp>
#include <gnstor/wire/fabrics/property.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/log_page.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace gnstor::host::fabrics {
namespace {

using wire::nvme::submission_entry;

constexpr std::size_t align(std::size_t n) { return (n + 4095) / 4096 * 4096; }
constexpr std::size_t queue_bytes = align(proxy_queue_layout::of(admin_queue::depth).bytes);
constexpr std::size_t state_bytes = align(proxy_channel::bytes(admin_queue::depth, false));

std::uint64_t ns(std::chrono::milliseconds t) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(t).count());
}

}  // namespace

admin_queue::admin_queue(transport& way, const admin_options& options)
    : options_(options),
      peer_(way.peer()),
      memory_(place::host, queue_bytes + state_bytes + page_bytes),
      registered_(way.register_memory(memory_.data(), memory_.bytes())),
      channel_(proxy_queue_pair<>(static_cast<unsigned char*>(memory_.data()), depth),
               static_cast<unsigned char*>(memory_.data()) + queue_bytes, false),
      page_(static_cast<unsigned char*>(memory_.data()) + queue_bytes + state_bytes) {
  connect(way, options);
}

admin_queue::~admin_queue() {
  if (link_ == nullptr || link_->ended()) return;
  const auto shutdown = wire::fabrics::make_property_set(
      0, wire::fabrics::property_offset::configuration,
      wire::nvme::cc_entry_sizes | wire::nvme::cc_enable | wire::nvme::cc_shutdown_normal);
  // A farewell: a target that does not hear it sees the connection end.
  (void)channel_.execute(wire::fabrics::capsule_cast<submission_entry>(shutdown),
                         simt::within(ns(std::chrono::milliseconds(500))));
  link_->disconnect();
}

void admin_queue::connect(transport& way, const admin_options& options) {
  queue_request wanted;
  wanted.memory = static_cast<unsigned char*>(memory_.data());
  wanted.depth = depth;
  wanted.queue_id = 0;
  wanted.entries = entries;
  link_ = way.open(wanted, options.timeout);
  const wire::fabrics::connect_data data = make_connect_record(
      options.host, options.subsystem, wire::fabrics::dynamic_controller, options.claims);
  std::memcpy(page_, &data, sizeof data);
  connect_options said;
  said.data = registered_->buffer.slice(
      static_cast<std::uint64_t>(page_ - static_cast<unsigned char*>(memory_.data())), sizeof data);
  said.queue_id = 0;
  said.queue_entries = static_cast<std::uint16_t>(entries);
  said.keep_alive_ms = static_cast<std::uint32_t>(options.keep_alive.count());
  std::uint32_t value = 0;
  const gnstor::status outcome = channel_.connect(said, simt::within(ns(options.timeout)), &value);
  if (!outcome.ok() || wire::fabrics::connect_needs_authentication(value)) {
    link_->disconnect();
    throw io_error(connect_words({peer_, options.subsystem, options.host.nqn, 0}, outcome, value),
                   outcome);
  }
  controller_id_ = wire::fabrics::connect_cntlid(value);
}

result<ticket> admin_queue::submit(const submission_entry& command) {
  return channel_.submit(command);
}

std::uint64_t admin_queue::wait(ticket t, const char* what) {
  std::uint64_t value = 0;
  gnstor::status outcome = gnstor::status::make(status_code::would_block, reporter::channel);
  const deadline end = simt::within(ns(options_.timeout));
  for (until more{end}; more && outcome.code == status_code::would_block;) {
    outcome = channel_.try_wait(t, &value);
  }
  if (outcome.code == status_code::would_block) {
    outcome = channel_.wait(t, simt::within(0));
    if (outcome.left_behind()) link_->disconnect();
  }
  if (!outcome.ok()) {
    throw io_error(fmt::format("{} at {}: {}", what, peer_, outcome_words(outcome)), outcome);
  }
  return value;
}

std::uint64_t admin_queue::execute(const submission_entry& command, const char* what) {
  const deadline end = simt::within(ns(options_.timeout));
  result<ticket> sent = submit(command);
  for (until more{end}; more && sent.status.code == status_code::would_block;) {
    (void)channel_.poll();
    sent = submit(command);
  }
  if (!sent) {
    throw io_error(fmt::format("{} at {}: {}", what, peer_, outcome_words(sent.status)),
                   sent.status);
  }
  return wait(sent.value, what);
}

std::uint64_t admin_queue::exchange(submission_entry command, std::size_t bytes, const char* what) {
  command.dptr =
      wire::nvme::make_keyed_sgl(reinterpret_cast<std::uint64_t>(page_),
                                 static_cast<std::uint32_t>(bytes), registered_->buffer.rkey);
  return execute(command, what);
}

std::uint64_t admin_queue::receive(submission_entry command, std::span<std::byte> data,
                                   const char* what) {
  const std::lock_guard use(page_use_);
  GNSTOR_VERIFY(data.size() <= page_bytes);
  std::memset(page_, 0, data.size());
  const std::uint64_t value = exchange(command, data.size(), what);
  std::memcpy(data.data(), page_, data.size());
  return value;
}

std::uint64_t admin_queue::send(submission_entry command, std::span<const std::byte> data,
                                const char* what) {
  const std::lock_guard use(page_use_);
  GNSTOR_VERIFY(data.size() <= page_bytes);
  std::memcpy(page_, data.data(), data.size());
  return exchange(command, data.size(), what);
}

std::uint64_t admin_queue::property(wire::fabrics::property_offset which) {
  const auto command = wire::fabrics::make_property_get(0, which);
  return execute(wire::fabrics::capsule_cast<submission_entry>(command), "reading a property");
}

void admin_queue::set_property(wire::fabrics::property_offset which, std::uint64_t value) {
  const auto command = wire::fabrics::make_property_set(0, which, value);
  (void)execute(wire::fabrics::capsule_cast<submission_entry>(command), "setting a property");
}

void admin_queue::log_page(std::uint8_t id, std::uint64_t offset, std::span<std::byte> data) {
  for (std::size_t done = 0; done < data.size(); done += page_bytes) {
    const std::span<std::byte> piece =
        data.subspan(done, std::min<std::size_t>(page_bytes, data.size() - done));
    (void)receive(wire::nvme::make_get_log_page(0, id, offset + done,
                                                static_cast<std::uint32_t>(piece.size()), {}),
                  piece, "reading a log page");
  }
}

}  // namespace gnstor::host::fabrics
