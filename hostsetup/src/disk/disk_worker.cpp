#include "disk_worker.hpp"

#include <linux/falloc.h>
#include <linux/fs.h>
#include <nvme_pcie/dataset_ranges.hpp>
#include <nvme_pcie/nvme_entries.hpp>
#include <nvme_pcie/prp_walk.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace gnstor::host {
namespace {

using wire::nvme::generic_status;
using wire::nvme::make_status;
using wire::nvme::media_status;
using wire::nvme::nvm_opcode;

nvm_opcode operation(const disk_request& r) { return static_cast<nvm_opcode>(r.command.opcode); }

/// What NVMe calls that with which Linux ended a request. block/blk-core.c, blk_errors.
std::uint16_t status_of(int problem, bool reads) {
  switch (problem) {
    case EIO:
    case ENODATA:  // the medium
    case EILSEQ:   // protection information
      return make_status(reads ? media_status::unrecovered_read_error : media_status::write_fault);
    case ENOSPC:
    case EDQUOT: return make_status(generic_status::capacity_exceeded);
    case EROFS:
    case EPERM:
    case EBADF: return make_status(generic_status::namespace_write_protected, true);
    case ENODEV:
    case ENXIO:
    case ENOLINK: return make_status(generic_status::namespace_not_ready, true);
    case EOPNOTSUPP: return make_status(generic_status::invalid_opcode, true);
    default: return make_status(generic_status::internal_error);
  }
}

bool is_of_medium(std::uint16_t status) {
  return wire::nvme::status_type(status) ==
         static_cast<std::uint8_t>(wire::nvme::status_code_type::media);
}

bool is_durable(const disk_request& r) {
  return operation(r) == nvm_opcode::flush ||
         (operation(r) == nvm_opcode::write &&
          (r.command.cdw12 & wire::nvme::force_unit_access) != 0);
}

/// What may be done again when it has failed. A Flush may not: Linux reports what it could not
/// write once, and would call the second one done.
bool is_plain_transfer(const disk_request& r) {
  const nvm_opcode op = operation(r);
  return (op == nvm_opcode::read || op == nvm_opcode::write) && !is_durable(r);
}

/// The memory that a command's PRPs name.
struct pieces_of {
  std::vector<iovec>* pieces;
  void operator()(const simt::group&, unsigned char* memory, std::uint32_t bytes) const {
    pieces->push_back({memory, bytes});
  }
};

/// Copies between pieces and memory in one piece.
void scatter(const std::vector<iovec>& pieces, unsigned char* staging, bool out) {
  for (const iovec& p : pieces) {
    out ? std::memcpy(p.iov_base, staging, p.iov_len) : std::memcpy(staging, p.iov_base, p.iov_len);
    staging += p.iov_len;
  }
}

}  // namespace

disk_worker::disk_worker(const fw::nvme_node& node, std::uint32_t index,
                         std::span<const disk> disks, io_ring& ring, std::uint32_t number)
    : node_(&node),
      queue_(&node.queues[index]),
      disks_(disks),
      ring_(&ring),
      tag_(std::uint64_t{number} << 32),
      requests_(most) {
  for (std::uint32_t k = most; k > 0; --k) free_.push_back(k - 1);
}

/// Looks whether the queue is served now. Answers who wants it drained.
bool disk_worker::serves() {
  const system_word<std::uint32_t> life(queue_->life);
  const auto now = static_cast<fw::nvme_queue_life>(life.load(acquire));
  const bool idle = free_.size() == most;
  if (now == fw::nvme_queue_life::serving && !serves_ && idle) {
    fetched_ = answers_ = unanswered_ = 0;
    return serves_ = true;
  }
  if (now == fw::nvme_queue_life::serving) return serves_;
  serves_ = false;
  if (now == fw::nvme_queue_life::draining && idle) {
    // Paired with the acquire load of the controller, which changes nothing before it has seen it.
    life.store(static_cast<std::uint32_t>(fw::nvme_queue_life::drained), release);
  }
  return false;
}

/// Commands that may be taken now.
std::uint32_t disk_worker::waiting() {
  const std::uint32_t mask = queue_->submission_entries - 1;
  // Paired with the release of who rang.
  const std::uint32_t tail = system_word<std::uint32_t>(*queue_->tail).load(acquire);
  if (tail > mask) {
    if (tail != bad_tail_) fw::add_to(queue_->bad_doorbells, 1);
    bad_tail_ = tail;
    return 0;
  }
  const auto there = static_cast<std::uint32_t>((tail - fetched_) & mask);
  if (there == 0) return 0;
  const std::uint32_t answers = queue_->completion_entries - 1;
  // Paired with the release of who has read the entries before it.
  const std::uint32_t head = system_word<std::uint32_t>(*queue_->head).load(acquire);
  const auto owed = static_cast<std::uint32_t>((fetched_ - unanswered_ - head) & answers);
  return std::min({there, answers - owed, static_cast<std::uint32_t>(free_.size()), ring_->room()});
}

bool disk_worker::tick() {
  if (!serves()) return false;
  const std::uint32_t count = waiting();
  const fw::nvme_entries entries(*node_, *queue_);
  for (std::uint32_t k = 0; k < count; ++k) {
    wire::nvme::submission_entry command{};
    const bool reached = entries.fetch(fetched_++, command);
    if (reached) {
      take(command);
    } else {
      fw::add_to(queue_->faults, 1);
      ++unanswered_;
    }
  }
  return count != 0;
}

void disk_worker::take(const wire::nvme::submission_entry& command) {
  const fw::nvme_job job = fw::check_command(*node_, *queue_, command);
  if (job.swallowed) {
    ++unanswered_;
    return;
  }
  if (job.status != 0) return answer(command.command_id, job.status);
  const std::uint32_t slot = free_.back();
  disk_request& r = requests_[slot];
  r.command = command;
  const std::uint16_t refused = prepare(r, job);
  if (refused != 0) {
    r.staging.reset();
    return answer(command.command_id, refused);
  }
  free_.pop_back();
  begun_.fetch_add(1, std::memory_order_release);
  if (operation(r) == nvm_opcode::dataset_management && r.ranges.empty()) return conclude(slot, 0);
  start(slot);
}

/// The status of a command that cannot be begun, else 0.
std::uint16_t disk_worker::prepare(disk_request& r, const fw::nvme_job& job) {
  r.pieces.clear();
  r.ranges.clear();
  r.offset = job.offset;
  r.bytes = job.bytes;
  r.done = r.range = r.tries = 0;
  r.turned = r.alone = false;
  const nvm_opcode op = operation(r);
  if (op == nvm_opcode::flush) return 0;
  if (op != nvm_opcode::read && disk_of(r).read_only())
    return make_status(generic_status::namespace_write_protected, true);
  r.way = FALLOC_FL_ZERO_RANGE;
  if (op == nvm_opcode::write_zeroes) return 0;
  if (op == nvm_opcode::dataset_management) return prepare_ranges(r);
  pieces_of take{&r.pieces};
  const std::uint16_t wrong =
      fw::prp_walk(*node_, take).over(simt::group::self(), wire::nvme::prp_of(r.command), r.bytes);
  if (wrong != 0) {
    fw::add_to(queue_->faults, 1);
    return wrong;
  }
  const std::uint32_t align = disk_of(r).memory_alignment();
  const bool fits = std::all_of(r.pieces.begin(), r.pieces.end(), [align](const iovec& p) {
    return (reinterpret_cast<std::uintptr_t>(p.iov_base) | p.iov_len) % align == 0;
  });
  if (fits) return 0;
  r.staging.reset(static_cast<unsigned char*>(std::aligned_alloc(4096, (r.bytes + 4095) & ~4095u)));
  if (r.staging == nullptr) return make_status(generic_status::internal_error);
  if (op == nvm_opcode::write) scatter(r.pieces, r.staging.get(), false);
  return 0;
}

/// The ranges to be deallocated, all of them before the first is.
std::uint16_t disk_worker::prepare_ranges(disk_request& r) const {
  if ((r.command.cdw11 & 1u << 2) == 0) return 0;  // hints
  const wire::nvme::prp_pair data = wire::nvme::prp_of(r.command);
  if (data.prp1 % 4 != 0) return make_status(generic_status::invalid_prp_offset, true);
  const fw::nvme_namespace& n = node_->namespaces[r.command.nsid - 1];
  r.way = FALLOC_FL_PUNCH_HOLE;
  for (std::uint32_t k = 0; k <= (r.command.cdw10 & 0xff); ++k) {
    wire::nvme::dataset_range range{};
    if (!fw::read_range(*node_, data, k, range))
      return make_status(generic_status::data_transfer_error, true);
    if (range.slba > n.blocks || range.blocks > n.blocks - range.slba)
      return make_status(generic_status::lba_out_of_range, true);
    if (range.blocks != 0) r.ranges.push_back(range);
  }
  return 0;
}

const disk& disk_worker::disk_of(const disk_request& r) const {
  const bool all = r.command.nsid == ~0u;  // a Flush, one disk after another
  return disks_[all ? r.range : r.command.nsid - 1];
}

/// Hands over what is next of a request.
void disk_worker::start(std::uint32_t slot) {
  disk_request& r = requests_[slot];
  io_uring_sqe& request = ring_->next();
  request.fd = disk_of(r).file();
  request.user_data = tag_ | slot;
  switch (operation(r)) {
    case nvm_opcode::read:
    case nvm_opcode::write: return start_transfer(r, request);
    case nvm_opcode::flush:
      request.opcode = IORING_OP_FSYNC;
      request.fsync_flags = IORING_FSYNC_DATASYNC;
      return;
    default: return start_clearing(r, request);
  }
}

void disk_worker::start_transfer(disk_request& r, io_uring_sqe& request) {
  r.rest.clear();
  std::uint32_t skip = r.done;
  if (r.staging != nullptr) {
    r.rest.push_back({r.staging.get() + skip, r.bytes - skip});
  } else {
    for (const iovec& p : r.pieces) {
      const auto here = std::min(skip, static_cast<std::uint32_t>(p.iov_len));
      skip -= here;
      if (here < p.iov_len)
        r.rest.push_back({static_cast<unsigned char*>(p.iov_base) + here, p.iov_len - here});
    }
  }
  const bool reads = operation(r) == nvm_opcode::read;
  request.opcode = reads ? IORING_OP_READV : IORING_OP_WRITEV;
  request.off = r.offset + r.done;
  request.addr = reinterpret_cast<std::uintptr_t>(r.rest.data());
  request.len = static_cast<std::uint32_t>(r.rest.size());
  if (!reads && (r.command.cdw12 & wire::nvme::force_unit_access) != 0)
    request.rw_flags = RWF_DSYNC;
}

void disk_worker::start_clearing(const disk_request& r, io_uring_sqe& request) const {
  std::uint64_t offset = r.offset;
  std::uint64_t bytes = r.bytes;
  if (!r.ranges.empty()) {
    const std::uint32_t shift = node_->namespaces[r.command.nsid - 1].block_shift;
    offset = r.ranges[r.range].slba << shift;
    bytes = std::uint64_t{r.ranges[r.range].blocks} << shift;
  }
  request.opcode = IORING_OP_FALLOCATE;
  request.off = offset;
  request.addr = bytes;
  request.len = static_cast<std::uint32_t>(r.way | FALLOC_FL_KEEP_SIZE);
}

void disk_worker::ended(std::uint32_t slot, std::int32_t result) {
  constexpr std::uint32_t most_tries = 1000;
  disk_request& r = requests_[slot];
  if ((result == -EAGAIN || result == -EINTR) && ++r.tries < most_tries) return start(slot);
  std::uint16_t status = 0;
  if (goes_on(r, result, status)) return start(slot);
  if (status != 0 && disk_of(r).is_gone())
    status = make_status(generic_status::namespace_not_ready, true);
  if (is_of_medium(status) && !r.alone && is_plain_transfer(r)) {
    r.alone = true;
    lonely_.push_back(slot);
    if (lonely_.size() == 1) start(slot);
    return;
  }
  if (!lonely_.empty() && lonely_.front() == slot) {
    lonely_.pop_front();
    if (!lonely_.empty()) start(lonely_.front());
  }
  conclude(slot, status);
}

/// True if there is more to do of a request of which a part has ended; else its status.
bool disk_worker::goes_on(disk_request& r, std::int32_t result, std::uint16_t& status) {
  const nvm_opcode op = operation(r);
  if (op == nvm_opcode::read || op == nvm_opcode::write) return transfer_goes_on(r, result, status);
  const bool clears = op != nvm_opcode::flush;
  if (clears && result == -EOPNOTSUPP && !r.turned) {  // the other way to have zeroes there
    r.turned = true;
    r.way = r.way == FALLOC_FL_ZERO_RANGE ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE;
    return true;
  }
  if (result < 0) {
    status = status_of(-result, false);
    return false;
  }
  ++r.range;
  return op == nvm_opcode::flush ? r.command.nsid == ~0u && r.range < disks_.size()
                                 : r.range < r.ranges.size();
}

bool disk_worker::transfer_goes_on(disk_request& r, std::int32_t result,
                                   std::uint16_t& status) const {
  const bool reads = operation(r) == nvm_opcode::read;
  if (result <= 0) {  // nothing: the file has become shorter
    status = status_of(result == 0 ? EIO : -result, reads);
    return false;
  }
  r.done += static_cast<std::uint32_t>(result);
  if (r.done < r.bytes) return true;
  if (reads && r.staging != nullptr) scatter(r.pieces, r.staging.get(), true);
  fw::add_to(reads ? queue_->reads : queue_->writes, 1);
  fw::add_to(reads ? queue_->bytes_read : queue_->bytes_written, r.bytes);
  return false;
}

void disk_worker::conclude(std::uint32_t slot, std::uint16_t status) {
  disk_request& r = requests_[slot];
  if (is_durable(r)) {
    const std::size_t all = r.command.nsid == ~0u ? disks_.size() : r.command.nsid;
    for (std::size_t k = r.command.nsid == ~0u ? 0 : all - 1; k < all; ++k) {
      if (status != 0) disks_[k].lose();
      if (disks_[k].is_lost()) status = make_status(media_status::write_fault);
    }
  }
  r.staging.reset();
  answer(r.command.command_id, status);
  free_.push_back(slot);
  concluded_.fetch_add(1, std::memory_order_release);
}

void disk_worker::answer(std::uint16_t id, std::uint16_t status) {
  fw::nvme_entries(*node_, *queue_).answer(answers_++, fetched_, id, status);
}

}  // namespace gnstor::host
