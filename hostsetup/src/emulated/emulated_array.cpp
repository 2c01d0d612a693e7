#include "emulated_array.hpp"

#include "emulation_rules.hpp"
#include <afa/cpu_runner.hpp>
#include <afa/gpu_runner.hpp>
#include <base/cuda_support.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

namespace gnstor::host {
namespace {

/// Copy workers of a node on GPU `device`: 24 share a multiprocessor, and a sixth of these is
/// theirs. 480 reach what an H200 can move. Tools that watch a node that comes and goes with its
/// clients watch every idle worker, too: it gets few.
std::uint32_t gpu_copy_workers(int device, bool resident) {
  if (!resident) return 48;
  return 24 * static_cast<std::uint32_t>(std::clamp(multiprocessors(device) / 6, 1, 20));
}

runner_kind resolve(const endpoint& where, machine client) {
  if (where.runner != runner_kind::automatic) return where.runner;
  return client == machine::gpu ? runner_kind::gpu : runner_kind::cpu;
}

std::unique_ptr<fw::node_runner> run_on_threads(const fw::node& n, std::uint32_t threads,
                                                fw::firmware_failure& failure,
                                                fw::node_rest& rest) {
  try {
    return std::make_unique<fw::cpu_runner>(n, threads, failure, rest);
  } catch (const std::system_error& e) {
    throw error(
        fmt::format("starting {} threads of the array's firmware: {}; use fewer threads=, "
                    "or allow more (ulimit -u, or the container's limit of pids)",
                    threads, e.what()));
  }
}

/// Hands out offsets within one block of memory.
class carver {
 public:
  template <class T>
  std::size_t take(std::size_t count) {
    at_ = (at_ + 127) / 128 * 128;
    const std::size_t here = at_;
    at_ += count * sizeof(T);
    return here;
  }
  std::size_t bytes() const { return at_; }

 private:
  std::size_t at_ = 0;
};

}  // namespace

emulated_array::emulated_array(const endpoint& where, machine client, int client_device,
                               std::uint32_t queues, std::uint32_t depth)
    : endpoint_(where), runner_(resolve(where, client)), geometry_(geometry_for(where, runner_)) {
  check_emulation(where, runner_, client);
  if (client == machine::gpu) {
    prepare_gpus(client_device, on_gpu() ? where.device : client_device);
  } else if (on_gpu()) {
    prepare_gpus(where.device, where.device);
  }
  refuse_sync();
  choose_shape(queues, depth);
  lay_out();
  pace();
  drives_.resize(where.ssds);
  try {
    for (std::uint32_t k = 0; k < where.ssds; ++k) mount(k);
    refuse_gaps();
    name_array();
    if (endpoint_.flash.empty() || on_gpu()) forget_unconfirmed();
    detached_ = latest_membership().absent;
    for (std::uint32_t k = 0; k < where.ssds; ++k) tell_of(k);
    for (std::uint32_t k = 0; k < where.ssds; ++k) install(k);
    prepare_files();
  } catch (...) {
    remove_new_files();
    throw;
  }
}

emulated_array::~emulated_array() {
  try {
    stop();
  } catch (const std::exception&) {
    // `stop` is there for those who want to know.
  }
}

void emulated_array::choose_shape(std::uint32_t queues, std::uint32_t depth) {
  fw::node_shape& s = node_.shape;
  s.max_queues = queues;
  s.max_depth = depth;
  s.max_hosts = std::max(s.max_hosts, queues / 2);  // each has two at least
  s.max_regions = std::max(s.max_regions, 8 * s.max_hosts);
  s.ssd_count = endpoint_.ssds;
  s.shards = geometry_.shards;
  s.check_reads = endpoint_.check_reads.value_or(!on_gpu()) ? 1 : 0;
  s.paced = endpoint_.timing != timing_kind::off ? 1 : 0;
  s.sends = endpoint_.send != send_kind::direct ? 1 : 0;
  s.transfer_blocks = static_cast<std::uint32_t>(endpoint_.max_transfer / block_bytes);
  const std::uint32_t workers = on_gpu() ? gpu_copy_workers(endpoint_.device, resident())
                                         : (runner_ == runner_kind::cpu ? endpoint_.threads : 1);
  s.nics = endpoint_.nics;
  s.copy_workers = (workers + s.nics - 1) / s.nics * s.nics;  // as many for each
  s.page_cost = fw::paced_link::cost(block_bytes, endpoint_.nic_rate);
}

void emulated_array::lay_out() {
  const fw::node_shape& s = node_.shape;
  const std::uint32_t inbox_cells = fw::node::power_of_two(s.commands());
  carver c;
  const auto regions = c.take<fw::memory_region>(s.max_regions);
  const auto changes = c.take<std::uint32_t>(1);
  const auto hosts = c.take<fw::known_host>(s.max_hosts);
  const auto subsystem = c.take<char>(256);
  const auto queues = c.take<fw::queue_context>(s.max_queues);
  const auto free_slots = c.take<std::uint32_t>(s.commands());
  const auto commands = c.take<fw::io_command>(s.commands());
  const auto ssds = c.take<fw::node::ssd>(s.ssd_count);
  const auto faults = c.take<std::uint32_t>(s.ssd_count);
  const auto priorities = c.take<std::uint32_t>(s.max_queues);
  const auto arbitrations = c.take<std::uint32_t>(s.ssd_count);
  const bool long_commands = s.transfer_blocks > fw::max_transfer_blocks;
  const auto long_pages =
      c.take<std::uint32_t>(long_commands ? std::size_t{s.commands()} * s.transfer_blocks : 0);
  const auto paced = c.take<fw::paced_ssd*>(s.pacers());
  const auto senders = c.take<fw::stream_sender*>(s.senders());
  const auto ends = c.take<fw::handle_ring::ends>(s.rings());
  const auto done = c.take<std::uint64_t>(s.commands());
  const auto inbox = c.take<std::uint64_t>(std::size_t{s.inboxes()} * inbox_cells);
  const auto copies = c.take<std::uint64_t>(std::size_t{s.nics} * fw::node::copy_cell_count(s));
  const auto paced_cells = c.take<std::uint64_t>(std::size_t{s.pacers()} * inbox_cells);
  const auto send_cells = c.take<std::uint64_t>(std::size_t{s.senders()} * inbox_cells);
  const auto tickets = c.take<std::uint64_t>(s.copy_workers);
  const auto links = c.take<fw::paced_link>(s.nics);
  const auto quiescence =
      c.take<std::uint64_t>(fw::reader_quiescence<thread_scope_device>::words_for(s.max_queues));
  const auto stop = c.take<std::uint32_t>(1);
  control_ = memory_block(on_gpu() ? place::device : place::host, c.bytes(), endpoint_.device);
  auto* base = static_cast<char*>(control_.data());
  node_.regions = reinterpret_cast<fw::memory_region*>(base + regions);
  node_.region_changes = reinterpret_cast<std::uint32_t*>(base + changes);
  node_.hosts = reinterpret_cast<fw::known_host*>(base + hosts);
  node_.subsystem = base + subsystem;
  node_.queues = reinterpret_cast<fw::queue_context*>(base + queues);
  node_.free_slots = reinterpret_cast<std::uint32_t*>(base + free_slots);
  node_.commands = reinterpret_cast<fw::io_command*>(base + commands);
  node_.ssds = reinterpret_cast<fw::node::ssd*>(base + ssds);
  node_.faults = reinterpret_cast<std::uint32_t*>(base + faults);
  node_.priorities = reinterpret_cast<std::uint32_t*>(base + priorities);
  node_.arbitrations = reinterpret_cast<std::uint32_t*>(base + arbitrations);
  node_.long_pages = reinterpret_cast<std::uint32_t*>(base + long_pages);
  node_.paced_ssds = reinterpret_cast<fw::paced_ssd**>(base + paced);
  node_.stream_senders = reinterpret_cast<fw::stream_sender**>(base + senders);
  node_.ring_ends = reinterpret_cast<fw::handle_ring::ends*>(base + ends);
  node_.done_cells = reinterpret_cast<std::uint64_t*>(base + done);
  node_.inbox_cells = reinterpret_cast<std::uint64_t*>(base + inbox);
  node_.copy_cells = reinterpret_cast<std::uint64_t*>(base + copies);
  node_.paced_cells = reinterpret_cast<std::uint64_t*>(base + paced_cells);
  node_.send_cells = reinterpret_cast<std::uint64_t*>(base + send_cells);
  node_.tickets = reinterpret_cast<std::uint64_t*>(base + tickets);
  node_.links = reinterpret_cast<fw::paced_link*>(base + links);
  node_.quiescence_words = reinterpret_cast<std::uint64_t*>(base + quiescence);
  node_.stop = reinterpret_cast<std::uint32_t*>(base + stop);
  if (on_gpu()) {
    stop_word_ = memory_block(place::pinned, sizeof(std::uint32_t));
    node_.host_stop = static_cast<std::uint32_t*>(stop_word_.data());
  }
  std::vector<std::uint32_t> slots(s.commands());
  for (std::uint32_t k = 0; k < s.commands(); ++k) slots[k] = k % s.max_depth;
  control_.write(free_slots, slots.data(), slots.size() * sizeof slots[0]);
  control_.write(subsystem, emulated_nqn, std::strlen(emulated_nqn));
  reserve_tables();
}

/// Room for what this side keeps of regions, hosts, queues and faults.
void emulated_array::reserve_tables() {
  const fw::node_shape& s = node_.shape;
  regions_.resize(s.max_regions);
  host_slots_.resize(s.max_hosts);
  free_queues_.reserve(s.max_queues);
  queue_nics_.resize(s.max_queues, no_nic);
  nic_faults_.resize(s.nics, nic_fault::none);
  ssd_faults_.resize(s.ssd_count, fw::ssd_fault::none);
  kept_.reserve(std::size_t{s.max_hosts} * kept_each);
  kept_objects_.reserve(std::size_t{s.max_hosts} * kept_each);
}

/// What the SSDs' arbitration is, and when their commands end; how NICs send what is read.
void emulated_array::pace() {
  constexpr wire::nvme::arbitration rules = fw::node::default_arbitration;
  for (std::uint32_t k = 0; k < endpoint_.ssds; ++k) poke(node_.arbitrations + k, rules.pack());
  for (std::uint32_t k = 0; k < node_.shape.pacers(); ++k) {
    fw::ssd_profile profile =
        endpoint_.timing == timing_kind::gmblock ? fw::gmblock_ssd_profile() : fw::table2_profile();
    if (endpoint_.timing == timing_kind::table2_unchecked) profile.check = 0;
    pacers_.push_back(std::make_unique<fw::paced_ssd>(profile, rules));
    node_.paced_ssds[k] = pacers_.back().get();
  }
  for (std::uint32_t k = 0; k < node_.shape.senders(); ++k) {
    senders_.push_back(
        std::make_unique<fw::stream_sender>(stream_profile_for(endpoint_), endpoint_.ssds));
    node_.stream_senders[k] = senders_.back().get();
  }
}

void emulated_array::start() {
  const std::lock_guard lock(guard_);
  if (started_) return;
  started_ = true;
  open_flash();
  if (resident()) launch();
}

void emulated_array::run_beside(const std::function<void()>& work) {
  if (resident()) {
    const fw::node_rest::use mine(rest_);
    check();
    work();
    return check();
  }
  const std::lock_guard lock(guard_);
  if (running_) return work();  // within another call of this thread
  launch();
  try {
    work();
  } catch (...) {
    suspend();
    throw;
  }
  suspend();
}

void emulated_array::check() const {
  if (!failure_.raised()) return;
  reported_.store(true);
  throw error(fmt::format(
      "the array's firmware has failed and serves nothing any more: {}. Open the array again; with "
      "flash=DIR it holds all that was acknowledged",
      failure_.why()));
}

void emulated_array::launch() {
  if (runner_ == runner_kind::cpu) {
    publish(node_.stop, 0u);
    if (syncer_) syncer_->start();
    running_ = run_on_threads(node_, endpoint_.threads, failure_, rest_);
  }
#if defined(GNSTOR_WITH_CUDA)
  if (on_gpu()) {
    poke(node_.stop, 0u);
    system_word<std::uint32_t>(*node_.host_stop).store(fw::metadata_header::gpu_at_work, release);
    running_ = std::make_unique<fw::gpu_runner>(node_, endpoint_.device);
  }
#endif
}

void emulated_array::suspend() {
  if (const std::unique_ptr<fw::node_runner> ending = std::move(running_)) ending->stop();
  given_back_.clear();
  rest();
}

/// Says in the files that no GPU stores to them, unless one may.
void emulated_array::rest() const {
  if (!on_gpu()) return;
  const auto word = attached_ ? fw::metadata_header::gpu_at_work : fw::metadata_header::gpu_at_rest;
  system_word<std::uint32_t>(*node_.host_stop).store(word, release);
}

fw::node emulated_array::attached() {
  const std::lock_guard lock(guard_);
  fw::node n = node_;
  if (drives_[0].pinned.data() == nullptr) {
    n.host_stop = nullptr;
  } else {
    attached_ = true;
    rest();
  }
  return n;
}

void emulated_array::stop() {
  const std::lock_guard lock(guard_);
  if (!std::exchange(started_, false)) return;
  attached_ = false;
  suspend();
  if (syncer_) syncer_->stop();
  close_flash();
}

void emulated_array::publish(std::uint32_t* to, std::uint32_t value) const {
  if (on_gpu()) {
    poke(to, value);
  } else {
    device_word<std::uint32_t>(*to).store(value, release);
  }
}

void emulated_array::publish(std::uint64_t* to, std::uint64_t value) const {
  if (on_gpu()) {
    poke(to, value);
  } else {
    device_word<std::uint64_t>(*to).store(value, release);
  }
}

void emulated_array::keep(memory_block block) noexcept {
  const std::lock_guard lock(guard_);
  if (block.data() != nullptr) kept_.push_back(std::move(block));
}

void emulated_array::keep(std::shared_ptr<const void> object) noexcept {
  const std::lock_guard lock(guard_);
  kept_objects_.push_back(std::move(object));
}

memory_block emulated_array::allocate(place where, std::size_t bytes) {
  const std::lock_guard lock(guard_);
  const bool restart = on_gpu() && running_ && where == place::pinned;
  if (restart) suspend();
  memory_block block(where, bytes, endpoint_.device);
  if (restart) launch();
  if (!on_gpu() || where != place::pinned) return block;
  auto owned = std::make_shared<memory_block>(std::move(block));
  void* const data = owned->data();
  const std::size_t all = owned->bytes();
  return memory_block(where, data, all, endpoint_.device, [owned, array = weak_from_this()](void*) {
    if (const auto there = array.lock()) there->free_when_ended(std::move(*owned));
  });
}

void emulated_array::free_when_ended(memory_block block) noexcept {
  const std::lock_guard lock(guard_);
  if (running_) given_back_.push_back(std::move(block));
}

std::uint32_t emulated_array::register_region(std::uint64_t base, std::uint64_t bytes,
                                              std::uint32_t domain) {
  const std::lock_guard lock(guard_);
  for (std::uint32_t k = 0; k < regions_.size(); ++k) {
    fw::memory_region& r = regions_[k];
    if (r.domain != 0) continue;
    const std::uint32_t key =
        k << 8 | ((r.spare + 1) & 0xff) | (k == 0 && ((r.spare + 1) & 0xff) == 0 ? 1u : 0u);
    r = {base, bytes, fw::local_write | fw::remote_read | fw::remote_write, domain, 0, key & 0xff};
    const bool restart = on_gpu() && running_;
    if (restart) suspend();
    if (on_gpu()) {
      poke(node_.regions + k, r);  // which opens nothing yet
      publish(&node_.regions[k].key, key);
    } else {
      fw::memory_region opened = r;
      opened.key = key;
      node_.keys().open(k, opened);
    }
    publish(node_.region_changes, ++region_changes_);
    if (restart) launch();
    return key;
  }
  throw error(
      fmt::format("the NIC holds {} memory regions and all are in use: register fewer, larger ones",
                  regions_.size()));
}

void emulated_array::unregister_region(std::uint32_t key) noexcept {
  const std::lock_guard lock(guard_);
  if (const std::uint32_t k = key >> 8; k < regions_.size()) withdraw(k);
}

void emulated_array::withdraw(std::uint32_t region) noexcept {
  try {
    publish(&node_.regions[region].key, 0u);
    publish(node_.region_changes, ++region_changes_);
    regions_[region].domain = 0;
  } catch (const std::exception&) {
    // The GPU failed, and its kernel with it. The entry is not given to anybody else.
  }
}

}  // namespace gnstor::host
