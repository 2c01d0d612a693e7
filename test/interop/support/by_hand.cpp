#include "by_hand.hpp"

#include <gnstor/host/endpoint.hpp>
#include <gnstor/pcie/nvme_controller.hpp>
#include <gnstor/pcie/open_device.hpp>

#include <cstring>

namespace gnstor::interop {
namespace {

namespace nvme = wire::nvme;
using namespace host;

constexpr std::uint32_t page = nvme::prp_page_bytes;

/// An I/O queue pair of which one command is under way at a time.
class lone_queue {
 public:
  lone_queue(pcie::pcie_device& device, pcie::nvme_controller& controller)
      : device_(&device),
        stride_(controller.doorbell_stride_bytes()),
        submissions_(device, page),
        completions_(device, page) {
    controller.create_queues(1, entries, submissions_.address(), completions_.address());
  }
  void execute(nvme::submission_entry command) {
    command.command_id = static_cast<std::uint16_t>(sent_);
    std::memcpy(submissions_.data() + sent_ % entries * sizeof command, &command, sizeof command);
    const std::uint32_t at = sent_++ % entries;
    device_->write32(nvme::tail_doorbell_offset(1, stride_), sent_ % entries);
    nvme::completion_entry answer{};
    auto* const last =
        reinterpret_cast<std::uint32_t*>(completions_.data() + at * sizeof answer) + 3;
    const bool wanted = (sent_ - 1) / entries % 2 == 0;
    for (until more{simt::within(10'000'000'000)}; more;) {
      if (((system_word<std::uint32_t>(*last).load(acquire) >> 16 & 1) != 0) != wanted) continue;
      std::memcpy(&answer, completions_.data() + at * sizeof answer, sizeof answer);
      device_->write32(nvme::head_doorbell_offset(1, stride_), sent_ % entries);
      if ((answer.status & ~nvme::status_phase) != 0)
        throw error(fmt::format("a command ended with status {:04x}", answer.status));
      return;
    }
    throw error("a command was not answered within 10 s");
  }

 private:
  static constexpr std::uint32_t entries = 16;
  pcie::pcie_device* device_;
  std::uint32_t stride_;
  pcie::dma_pages submissions_;
  pcie::dma_pages completions_;
  std::uint32_t sent_ = 0;
};

/// PRPs for `bytes` at `offset` of some pages, whose list begins at entry `first` of its page and
/// goes on in the next one where that is full. NVMe Base 2.3, 4.1.1.
nvme::prp_pair lay(std::uint64_t data, std::uint32_t offset, std::uint32_t bytes,
                   const pcie::dma_pages& lists, std::uint32_t first) {
  nvme::prp_pair p;
  p.prp1 = data + offset;
  std::uint64_t next = data + page;
  const std::uint64_t end = data + offset + bytes;
  if (next >= end) return p;
  if (end - next <= page) {
    p.prp2 = next;
    return p;
  }
  p.prp2 = lists.address() + first * std::uint64_t{8};
  auto* const entries = reinterpret_cast<std::uint64_t*>(lists.data());
  for (std::uint32_t k = first; next < end; ++k) {
    if (k % (page / 8) == page / 8 - 1 && end - next > page) {
      entries[k] = lists.address() + (k + 1) * std::uint64_t{8};
      continue;
    }
    entries[k] = next;
    next += page;
  }
  return p;
}

std::unique_ptr<pcie::mapped_device> opened(const std::string& endpoint) {
  const host::endpoint where = host::endpoint::parse(endpoint);
  if (!where.pcie) throw input_error(endpoint + ": expected nvme://");
  return pcie::open_device(pcie::pci_function(*pcie::pci_address::parse(where.pcie->addresses[0])));
}

}  // namespace

std::vector<std::string> try_prp_lists(const std::string& endpoint, std::uint32_t nsid) {
  const auto device = opened(endpoint);
  pcie::nvme_controller controller(*device, {.name = device->name()});
  const std::uint32_t lba = 1u << controller.identify_namespace(nsid).format().data_shift;
  lone_queue queue(*device, controller);
  constexpr std::uint32_t most = 1u << 20;
  pcie::dma_pages data(*device, most + 2 * page);
  pcie::dma_pages lists(*device, 4 * page);
  struct form {
    const char* what;
    std::uint32_t offset, bytes, first;
  };
  const std::uint32_t limit = std::min(most, controller.max_transfer_bytes());
  const form forms[] = {
      {"one page", 0, page, 0},
      {"two pages", 0, 2 * page, 0},
      {"pages from an offset on", 512, 8 * page, 0},
      {"a list", 0, limit, 0},
      {"a list of an odd beginning", 1024, limit, 3},
      {"a list at the end of its page, which chains", 0, limit, page / 8 - 2},
      {"a list that is one pointer to the next", 0, limit, page / 8 - 1},
      {"the same from an offset on", 2048, limit, page / 8 - 1},
  };
  std::vector<std::string> said;
  std::uint32_t seed = 1;
  for (const form& f : forms) {
    const auto word = [&](std::uint32_t k) { return seed * 0x9e3779b9u ^ k * 0x85ebca6bu; };
    const auto words = [&](std::uint32_t offset) {
      return reinterpret_cast<std::uint32_t*>(data.data() + offset);
    };
    ++seed;
    const std::uint32_t blocks = f.bytes / lba;
    for (std::uint32_t k = 0; k < f.bytes / 4; ++k) words(f.offset)[k] = word(k);
    nvme::submission_entry e =
        nvme::make_read_write(nvme::nvm_opcode::write, 0, nsid, 0, blocks, {});
    nvme::set_prp(e, lay(data.address(), f.offset, f.bytes, lists, f.first));
    queue.execute(e);
    // Read back in the plainest way: a page at a time.
    std::uint32_t wrong = 0;
    for (std::uint32_t at = 0; at < f.bytes; at += page) {
      std::memset(data.data(), 0, page);
      e = nvme::make_read_write(nvme::nvm_opcode::read, 0, nsid, at / lba, page / lba, {});
      nvme::set_prp(e, {data.address(), 0});
      queue.execute(e);
      for (std::uint32_t k = 0; k < page / 4; ++k) wrong += words(0)[k] != word(at / 4 + k);
    }
    // And by the same PRPs.
    std::memset(data.data(), 0, most + 2 * page);
    e = nvme::make_read_write(nvme::nvm_opcode::read, 0, nsid, 0, blocks, {});
    nvme::set_prp(e, lay(data.address(), f.offset, f.bytes, lists, f.first));
    queue.execute(e);
    for (std::uint32_t k = 0; k < f.bytes / 4; ++k) wrong += words(f.offset)[k] != word(k);
    if (wrong != 0) throw error(fmt::format("{}: {} words are wrong", f.what, wrong));
    said.push_back(fmt::format("{} bytes, {}: right", f.bytes, f.what));
  }
  controller.delete_queues(1);
  return said;
}

std::vector<std::string> try_admin(const std::string& endpoint) {
  std::vector<std::string> said;
  const auto device = opened(endpoint);
  pcie::nvme_controller controller(*device, {.name = device->name()});
  if (controller.poll_event()) throw error("an event came before there was one");
  controller.set_feature(nvme::feature_asynchronous_events, nvme::event_health_warnings);
  if (controller.feature(nvme::feature_asynchronous_events) != nvme::event_health_warnings)
    throw error("the events wanted are not those that were set");
  // What is warmer than 200 K is too warm.
  controller.set_feature(nvme::feature_temperature_threshold, 200);
  std::optional<nvme::asynchronous_event> event;
  for (until more{simt::within(5'000'000'000)}; more && !event;) event = controller.poll_event();
  if (!event) throw error("no event within 5 s");
  said.push_back(fmt::format("event of type {}, code {}, log page {}", event->type, event->code,
                             event->log_page));
  for (const auto op : {nvme::admin_opcode::format_nvm, nvme::admin_opcode::sanitize}) {
    try {
      (void)controller.execute(nvme::make_command(static_cast<std::uint8_t>(op), 0, 1),
                               simt::within(1'000'000'000));
      throw error("a command that erases was sent");
    } catch (const input_error& e) {
      said.push_back(e.what());
    }
  }
  return said;
}

}  // namespace gnstor::interop
