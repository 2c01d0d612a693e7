#include "files/log_state.hpp"

#include "files/crc32c.hpp"
#include "files/ondisk/log_record.hpp"
#include "files/structure.hpp"
#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace gnstor::host::files {
namespace {

using xfs::log_unit_bytes;

/// The most data of a record, 256 KiB; and what a replay may read for a frozen file system.
constexpr std::uint32_t max_record_units = 512;
constexpr std::uint32_t max_replay_units = 4096;

/// A record and where it ends; units count from the log's start.
struct found_record {
  xfs::log_record header;
  std::uint32_t header_units;
  std::uint32_t data_units;

  std::uint32_t units() const { return header_units + data_units; }
};

class log_reader {
 public:
  log_reader(block_source& source, const geometry& shape)
      : source_(&source),
        start_(shape.log_offset()),
        units_(static_cast<std::uint32_t>((std::uint64_t{shape.log_blocks} << shape.block_log) /
                                          log_unit_bytes)),
        version5_(shape.version5) {}

  std::uint32_t units() const { return units_; }
  structure unit(std::uint64_t at, std::uint32_t count = 1) const;
  std::uint32_t cycle_of(std::uint32_t at) const;
  std::uint32_t head() const;
  /// The record at `at`, if one begins there.
  std::optional<found_record> record(std::uint32_t at) const;
  /// Its data, with the words back in place that the cycle stood for.
  std::vector<std::byte> data(std::uint32_t at, const found_record& r) const;
  [[noreturn]] void dirty() const;

 private:
  void require_record_crc(const structure& whole, const found_record& r) const;

  block_source* source_;
  std::uint64_t start_;
  std::uint32_t units_;
  bool version5_;
};

void log_reader::dirty() const {
  throw input_error(
      source_->name() +
      ": the log holds changes that have not reached their places: unmount the file system, or "
      "freeze it (fsfreeze --freeze) while it is read; after a crash, mount it once, so that Linux "
      "replays the log, and unmount it again");
}

structure log_reader::unit(std::uint64_t at, std::uint32_t count) const {
  const std::uint32_t first = static_cast<std::uint32_t>(at % units_);
  const std::uint32_t before_end = std::min(count, units_ - first);
  std::vector<std::byte> bytes(std::size_t{count} * log_unit_bytes);
  const std::uint64_t offset = start_ + std::uint64_t{first} * log_unit_bytes;
  const std::size_t split = std::size_t{before_end} * log_unit_bytes;
  source_->read(offset, std::span(bytes).first(split));
  if (before_end < count) source_->read(start_, std::span(bytes).subspan(split));
  return structure(*source_, "log", offset, std::move(bytes));
}

std::uint32_t log_reader::cycle_of(std::uint32_t at) const {
  const structure s = unit(at);
  const std::uint32_t word = s.load<xfs::big32>(0);
  return word == xfs::log_record_magic ? std::uint32_t{s.load<xfs::big32>(4)} : word;
}

/// The unit behind the last one written: units before it are of one cycle, those from it on of the
/// cycle before, or were never written.
std::uint32_t log_reader::head() const {
  const std::uint32_t first = cycle_of(0);
  const std::uint32_t last = cycle_of(units_ - 1);
  if (first == last) return units_;
  if (first != last + 1)
    unit(0).damaged(fmt::format("its first unit is of cycle {}, its last of {}", first, last));
  std::uint32_t newest = 0;          // of the first unit's cycle
  std::uint32_t older = units_ - 1;  // of the last one's
  for (int step = 0; step < 32 && older - newest > 1; ++step) {
    const std::uint32_t middle = newest + (older - newest) / 2;
    (cycle_of(middle) == first ? newest : older) = middle;
  }
  return older;
}

std::optional<found_record> log_reader::record(std::uint32_t at) const {
  const structure raw = unit(at);
  const auto header = raw.load<xfs::log_record>(0);
  const std::uint64_t here = std::uint64_t{header.cycle} << 32 | at % units_;
  if (header.magic != xfs::log_record_magic || header.sequence != here) return {};
  const std::uint32_t bytes = header.bytes;
  raw.require(bytes != 0 && bytes <= max_record_units * log_unit_bytes && header.operations != 0,
              "a record of an impossible length");
  // Version 1 has no field of the buffer's size, and one header.
  const bool more = (header.version & 2) != 0;
  const std::uint32_t per_header = xfs::log_cycle_words * log_unit_bytes;
  const std::uint32_t buffer = more ? std::uint32_t{header.buffer_bytes} : per_header;
  raw.require(buffer <= max_record_units * log_unit_bytes, "a record of an impossible size");
  const std::uint32_t headers = std::max(1u, (buffer + per_header - 1) / per_header);
  raw.require(bytes <= headers * per_header, "a record longer than its headers tell");
  return found_record{header, headers, (bytes + log_unit_bytes - 1) / log_unit_bytes};
}

void log_reader::require_record_crc(const structure& whole, const found_record& r) const {
  const std::uint32_t said = r.header.crc;
  if (!version5_ || said == 0) return;  // mkfs.xfs leaves it out
  std::uint32_t crc =
      crc32c_around(whole.part(0, sizeof(xfs::log_record)), offsetof(xfs::log_record, crc));
  const std::uint32_t used = (r.data_units + xfs::log_cycle_words - 1) / xfs::log_cycle_words;
  for (std::uint32_t k = 1; k < used; ++k)
    crc = crc32c(whole.part(k * log_unit_bytes, sizeof(xfs::log_record_more)), crc);
  crc = crc32c(whole.part(r.header_units * log_unit_bytes, r.header.bytes), crc);
  whole.require(crc == said, "the checksum of a record is wrong");
}

std::vector<std::byte> log_reader::data(std::uint32_t at, const found_record& r) const {
  const structure whole = unit(at, r.units());
  require_record_crc(whole, r);
  const auto from = whole.part(r.header_units * log_unit_bytes, r.data_units * log_unit_bytes);
  std::vector<std::byte> bytes(from.begin(), from.end());
  for (std::uint32_t k = 0; k < r.data_units; ++k) {
    const std::uint32_t header = k / xfs::log_cycle_words;
    const std::size_t words =
        header == 0 ? offsetof(xfs::log_record, words) : offsetof(xfs::log_record_more, words);
    const auto word = whole.part(header * log_unit_bytes + words + k % xfs::log_cycle_words * 4, 4);
    std::ranges::copy(word, bytes.begin() + std::ptrdiff_t{k} * log_unit_bytes);
  }
  bytes.resize(r.header.bytes);
  return bytes;
}

/// An integer of an operation, which is in the byte order of who wrote it; here the least
/// significant byte first.
template <class Integer>
Integer native(const structure& data, std::size_t at) {
  return data.load<Integer>(at);
}

/// Whether replaying a record would write nothing but superblocks. A transaction is: start, its
/// header, items of a format and what it announces, commit; none is spread over records here.
bool only_superblocks(const structure& data, std::uint32_t operations) {
  std::size_t at = 0;
  std::uint32_t left_of_item = 0;
  for (std::uint32_t k = 0; k < operations; ++k) {
    const auto op = data.load<xfs::log_operation>(at);
    at += sizeof op;
    const auto body = data.part(at, op.bytes);
    const std::size_t body_at = at;
    at += body.size();
    if (op.flags == xfs::operation_start || op.flags == xfs::operation_commit) {
      if (left_of_item != 0 || !body.empty()) return false;
      continue;
    }
    if (op.flags == xfs::operation_unmount) continue;
    if (op.flags != 0) return false;
    if (left_of_item != 0) {
      --left_of_item;
      continue;
    }
    if (body.size() == 16 && native<std::uint32_t>(data, body_at) == xfs::transaction_magic)
      continue;
    if (body.size() < 16 || native<std::uint16_t>(data, body_at) != xfs::buffer_item) return false;
    const std::uint64_t sector = native<std::uint64_t>(data, body_at + 8);
    const std::uint16_t regions = native<std::uint16_t>(data, body_at + 2);
    if (sector != 0 || regions == 0) return false;
    left_of_item = regions - 1u;
  }
  return left_of_item == 0;
}

/// The record that ends at `head`, and where it begins.
std::pair<std::uint32_t, found_record> last_record(const log_reader& log, std::uint32_t head) {
  const std::uint32_t most = std::min(log.units(), max_record_units + 9);
  for (std::uint32_t back = 1; back <= most; ++back) {
    const std::uint32_t at = (head + log.units() - back) % log.units();
    const std::optional<found_record> r = log.record(at);
    if (!r) continue;
    if (r->units() != back) break;  // what follows it was not written in order
    return {at, *r};
  }
  log.dirty();
}

}  // namespace

void require_clean_log(block_source& source, const geometry& shape) {
  const log_reader log(source, shape);
  const std::uint32_t head = log.head();
  if (head == log.units() && log.cycle_of(0) == 0) return;  // never written
  const auto [last_at, last] = last_record(log, head);
  const structure end(source, "log", 0, log.data(last_at, last));
  if (last.header.operations == 1 &&
      end.load<xfs::log_operation>(0).flags == xfs::operation_unmount)
    return;

  const std::uint64_t tail = last.header.tail;
  std::uint32_t at = static_cast<std::uint32_t>(tail);
  if (at >= log.units() || last.header.byte_order != 1) log.dirty();
  const std::uint32_t distance = (head + log.units() - at) % log.units();
  if (distance == 0 || distance > max_replay_units) log.dirty();
  for (std::uint32_t done = 0; done < distance;) {
    const std::optional<found_record> r = log.record(at);
    if (!r || r->units() > distance - done) log.dirty();
    const structure data(source, "log", 0, log.data(at, *r));
    if (!only_superblocks(data, r->header.operations)) log.dirty();
    done += r->units();
    at = (at + r->units()) % log.units();
  }
}

}  // namespace gnstor::host::files
