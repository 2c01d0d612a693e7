#include "fabrics_link.hpp"

#if defined(GNSTOR_WITH_RDMA)

#include <base/cuda_support.hpp>
#include <fabrics/discovery.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/simt/clock.hpp>
#include <gnstor/wire/afa/admin_command.hpp>
#include <gnstor/wire/afa/array_description.hpp>
#include <gnstor/wire/afa/only_asks.hpp>
#include <link/client_identity.hpp>
#include <mlx5/register_home_memory.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace gnstor::host {
namespace {

constexpr std::uint64_t most_blocks = std::uint64_t{1} << 32;

/// The host NQN of the session: the endpoint's, or its own name's; empty for this machine's.
std::string host_nqn(const rdma_endpoint& where, const session_options& options) {
  if (!where.host_nqn.empty()) return where.host_nqn;
  return options.host_name == session_options{}.host_name
             ? std::string{}
             : client_identity::named(options.host_name).nqn;
}

std::string host_id(const rdma_endpoint& where, const session_options& options) {
  if (!where.host_id.empty() || options.host_name == session_options{}.host_name)
    return where.host_id;
  std::array<std::uint8_t, 16> id{};
  std::copy_n(client_identity::named(options.host_name).hostid, id.size(), id.begin());
  return fabrics::uuid_text(id);
}

/// GPU memory that the device reaches by itself.
struct gpu_region final : fabrics::registered_memory {
  explicit gpu_region(verbs::memory_region r) : region(std::move(r)) { buffer = region.buffer(); }
  verbs::memory_region region;
};

[[noreturn]] void list_subsystems(fabrics::transport& way, const rdma_endpoint& where,
                                  const session_options& options) {
  std::string names;
  for (const fabrics::discovered& d :
       fabrics::discover(way, host_nqn(where, options), host_id(where, options))) {
    if (!d.discovery) names += fmt::format("\n  rdma://{}:{}/{}", where.host, where.port, d.nqn);
  }
  throw input_error(
      names.empty() ? fmt::format("endpoint rdma://{}:{} names no subsystem, and the target "
                                  "offers this host none: admit its host NQN there",
                                  where.host, where.port)
                    : fmt::format("endpoint rdma://{}:{} names no subsystem; these are there:{}",
                                  where.host, where.port, names));
}

fabrics::controller_options options_for(const rdma_endpoint& where,
                                        const session_options& options) {
  fabrics::controller_options o;
  o.subsystem = where.subsystem;
  o.host_nqn = host_nqn(where, options);
  o.host_id = host_id(where, options);
  o.queues = where.queues != 0 ? where.queues : options.channels + 1;
  o.depth = options.depth;
  o.priority = options.priority;
  o.keep_alive = std::chrono::milliseconds(where.keep_alive_ms);
  o.timeout =
      std::chrono::milliseconds(std::max<std::uint64_t>(1, options.timeout.ns() / 1'000'000));
  o.loss_timeout = std::chrono::milliseconds(where.loss_timeout_ms);
  return o;
}

}  // namespace

std::string host_nqn_of(const rdma_endpoint& where, const session_options& options) {
  return fabrics::host_identity::find(host_nqn(where, options), host_id(where, options)).nqn;
}

fabrics_link::fabrics_link(const rdma_endpoint& where, const session_options& options,
                           const wire::afa::connect_claims& claims)
    : options_(options),
      proxies_({where.host, where.port}),
      way_(proxies_, proxies_.domain(), {where.host, where.port}, where.scatter_responses) {
  if (where.subsystem.empty()) list_subsystems(way_, where, options);
  fabrics::controller_options connecting = options_for(where, options);
  connecting.claims = claims;
  controller_ = std::make_unique<fabrics::controller>(way_, std::move(connecting));
  queues_.emplace(
      *controller_, way_,
      mlx5::kernel_queues_wanted{where.transport, options.channels,
                                 options.client == machine::gpu ? place::pinned : place::host,
                                 options.asynchronous, [this] { return nic_lanes(); }});
  step_outcome_ = memory_block(place::host, sizeof(std::uint64_t));
  if (!is_array()) find_namespaces(where.nsid);
}

std::unique_ptr<array_link> fabrics_link::open(const endpoint& where,
                                               const session_options& options) {
  wire::afa::connect_claims claims{};
  std::random_device source;
  // Where nobody manages the array, hosts give themselves the right to write, each as a whole.
  while (where.control && claims.session.number == 0)
    claims.session.number = std::uint64_t{source()} << 32 | source();
  return std::make_unique<fabrics_link>(*where.rdma, options, claims);
}

fabrics_link::~fabrics_link() {
  queues_.reset();
  regions_.clear();
}

/// The lanes that would drive queues of the NIC's own: kernels of the session.
mlx5::queue_lanes fabrics_link::nic_lanes() {
  mlx5::queue_lanes lanes;
  lanes.device = options_.device;
  lanes.asynchronous = options_.asynchronous;
  lanes.connect = [this](const channel_outcomes& channels, const connect_options& said,
                         std::uint64_t timeout_ns) { connect_lanes(channels, said, timeout_ns); };
  if (options_.client == machine::cpu) {
    lanes.home = mlx5::host_home();
    return lanes;
  }
  prepare_gpus(options_.device, options_.device);
  lanes.home = gpu();
  lanes.reach = place::device;
  return lanes;
}

void fabrics_link::connect_lanes(const channel_outcomes& channels, const connect_options& said,
                                 std::uint64_t timeout_ns) {
  if (options_.client == machine::gpu)
    return connect_on_gpu(channels, said, timeout_ns, options_.device, *this);
  simt::lane<> lane;
  connect_channels{}(lane, channels, said, timeout_ns);
}

/// True for GNStor's own array: it alone knows ARRAY DESCRIBE. As whom it knows this session it is
/// to know it after a loss, too.
bool fabrics_link::is_array() {
  memory_block page(place::host, sizeof(wire::afa::array_description));
  auto* const about = static_cast<wire::afa::array_description*>(page.data());
  *about = {};
  const io_buffer data = register_memory(page.data(), page.bytes());
  wire::afa::admin_command c;
  c.opcode = wire::afa::admin_opcode::array_describe;
  c.nsid = 1;
  c.payload =
      wire::nvme::make_keyed_sgl(data.address, sizeof(wire::afa::array_description), data.rkey);
  const status said = execute_admin(c.pack(), simt::within(options_.timeout));
  unregister_memory(data);
  if (!said.ok() && said.code != status_code::nvme_error)
    throw io_error("asking the target whether it is an array: " + to_string(said), said);
  const bool is_session = about->own_host != 0 && about->own_host != about->own_client;
  if (said.ok()) controller_->stays(client_id(is_session ? about->own_client : std::uint16_t{0}));
  return said.ok();
}

void fabrics_link::find_namespaces(std::uint32_t wanted) {
  const auto add = [&](const fabrics::namespace_info& n) {
    volume_info v;
    v.vid = volume_id(static_cast<std::uint16_t>(n.nsid));
    v.capacity_blocks = std::min(n.bytes() / block_bytes, most_blocks);
    if (n.bytes() / block_bytes > most_blocks) {
      notes_.push_back(
          fmt::format("of namespace {} the first 16 TiB are used: block addresses have "
                      "32 bits",
                      n.nsid));
    }
    identities_.push_back(n);
    v.max_transfer_blocks = std::max(controller_->limits().max_transfer_bytes / block_bytes, 1u);
    v.stripe_blocks = v.max_transfer_blocks;
    v.replicas = 1;
    v.ssd_count = 1;
    v.namespace_id = n.nsid;
    v.lba_bytes = n.block_bytes;
    namespaces_.push_back(v);
  };
  if (wanted != 0) {
    add(controller_->find_namespace(wanted));
    return;
  }
  for (const fabrics::namespace_info& n : controller_->namespaces()) {
    if (n.problem.empty() && n.nsid <= 0xffff) {
      add(n);
    } else {
      notes_.push_back(n.problem.empty() ? fmt::format("namespace {} is left out: ids above 65535 "
                                                       "do not fit a volume id",
                                                       n.nsid)
                                         : n.problem);
    }
  }
  if (namespaces_.empty()) {
    throw input_error(fmt::format("subsystem {} has no namespace that gnstor can use{}{}",
                                  controller_->options().subsystem, notes_.empty() ? "" : ": ",
                                  notes_.empty() ? "" : notes_.back()));
  }
}

memory_block fabrics_link::allocate(place where, std::size_t bytes) {
  if (where != place::device) return memory_block(where, bytes, options_.device);
  // The stream-ordered allocator's memory cannot be given to a NIC.
  const std::shared_ptr<mlx5::memory_home> home = gpu();
  return memory_block(where, home->allocate(bytes), bytes, options_.device,
                      [home](void* memory) { home->release(memory); });
}

const std::shared_ptr<mlx5::memory_home>& fabrics_link::gpu() {
  const std::lock_guard hold(gpu_use_);
  if (gpu_ == nullptr) gpu_ = mlx5::gpu_home(options_.device);
  return gpu_;
}

io_buffer fabrics_link::register_memory(void* address, std::uint64_t bytes) {
  std::unique_ptr<fabrics::registered_memory> region;
  if (is_gpu_memory(address)) {
    region = std::make_unique<gpu_region>(mlx5::register_home_memory(
        proxies_.domain(), *gpu(), {address, bytes}, {.remote_read = true, .remote_write = true}));
  } else {
    region = controller_->register_memory(address, bytes);
  }
  const io_buffer buffer = region->buffer;
  const std::lock_guard hold(regions_use_);
  regions_[buffer.rkey] = std::move(region);
  return buffer;
}

void fabrics_link::unregister_memory(const io_buffer& buffer) noexcept {
  const std::lock_guard hold(regions_use_);
  regions_.erase(buffer.rkey);
}

status fabrics_link::execute_admin(const wire::nvme::submission_entry& command, deadline d) {
  const std::shared_ptr<fabrics::admin_queue> queue = controller_->admin();
  const status outcome = queue->ref().execute(command, d);
  // It may be executed yet, and what comes after it must not be overtaken: only the association's
  // end prevents it. What changes nothing may come when it likes: its buffer is kept for it.
  if (outcome.left_behind() && !wire::afa::only_asks(command.opcode)) queue->disconnect();
  return outcome;
}

std::vector<std::string> fabrics_link::notes() const {
  std::vector<std::string> all = controller_->notes();
  all.insert(all.end(), queues_->notes().begin(), queues_->notes().end());
  all.insert(all.end(), notes_.begin(), notes_.end());
  return all;
}

std::unique_ptr<array_link> fabrics_link::another(const endpoint& where,
                                                  const session_options& options) const {
  return open(where, options);
}

void fabrics_link::inject_fault(std::uint32_t, std::string_view) {
  throw input_error("faults are injected where the array is: this endpoint is behind a network");
}
void fabrics_link::inject_nic_fault(std::uint32_t nic, std::string_view fault) {
  inject_fault(nic, fault);
}

}  // namespace gnstor::host

#endif
