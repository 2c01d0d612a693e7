#include "batch_maker.hpp"

#include "same_disk.hpp"
#include "session_impl.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/file_descriptor.hpp>
#include <gnstor/simt/clock.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <numeric>
#include <random>
#include <type_traits>
#include <utility>

namespace gnstor::host {

/// Does a step, and adds the time it took.
template <class Step>
auto batch_maker::measured(duration file_iterator_statistics::*sum, const Step& step) {
  const std::uint64_t began = simt::now_ns();
  const auto add = [&] {
    const std::lock_guard lock(use_);
    taken_.*sum = duration::of_ns((taken_.*sum).ns() + (simt::now_ns() - began));
  };
  if constexpr (std::is_void_v<decltype(step())>) {
    step();
    add();
  } else {
    auto value = step();
    add();
    return value;
  }
}

file_iterator_statistics batch_maker::taken() const {
  const std::lock_guard lock(use_);
  return taken_;
}

void batch_maker::count_waiting(duration d) {
  const std::lock_guard lock(use_);
  taken_.waiting = duration::of_ns(taken_.waiting.ns() + d.ns());
}

void batch_maker::order(std::size_t count) {
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0u);
  at_ = 0;
  if (!options_.shuffle) return;
  std::mt19937_64 random(*options_.shuffle + pass_++);
  for (std::size_t k = count; k > 1; --k) std::swap(order_[k - 1], order_[random() % k]);
}

void batch_maker::make(slot& s) {
  s.planner.clear();
  if (options_.way == file_way::posix) return by_linux(s);
  using taken = file_iterator_statistics;
  std::vector<files::mounted_file> leased;
  measured(&taken::preparing, [&] { gather(s, leased); });
  for (std::uint32_t tries = 0;; ++tries) {
    read(s);
    // Nothing is handed over before the second look at each file.
    if (measured(&taken::checking, [&] { return unchanged(leased); })) break;
    if (tries == 2) {
      throw error(changed_ +
                  ": the file changes again and again (stale): read it when nobody writes it");
    }
    measured(&taken::preparing, [&] { plan_again(s, leased); });
  }
  hand_over(s);
}

/// Opens and plans files until the batch is full.
void batch_maker::gather(slot& s, std::vector<files::mounted_file>& leased) {
  for (; at_ < order_.size() && s.planner.files().size() < options_.batch; ++at_) {
    const std::uint32_t index = order_[at_];
    if (paths_.empty()) {
      const files::file_layout& l = layouts_[index];
      if (!fits(s, l.name, l.bytes)) return;
      s.planner.add(index, l);
      continue;
    }
    files::mounted_file file(paths_[index]);
    if (!std::exchange(same_disk_, true)) check_same_disk(*session_, where_, file);
    if (!fits(s, paths_[index], file.layout().bytes)) return;
    s.planner.add(index, file.layout());
    leased.push_back(std::move(file));
  }
}

/// False if the file is the next batch's.
bool batch_maker::fits(const slot& s, const std::string& name, std::uint64_t bytes) const {
  if (s.planner.has_room(bytes)) return true;
  if (!s.planner.is_empty()) return false;
  throw input_error(fmt::format(
      "{}: {} bytes do not fit a batch of {}: use a larger file_iterator_options::batch_bytes",
      name, bytes, options_.batch_bytes));
}

/// The same files, as they are now.
void batch_maker::plan_again(slot& s, std::vector<files::mounted_file>& leased) {
  leased.clear();
  const std::vector<batched_file> same = s.planner.files();
  s.planner.clear();
  for (const batched_file& f : same) {
    files::mounted_file file(paths_[f.index]);
    if (!fits(s, paths_[f.index], file.layout().bytes))
      throw error(paths_[f.index] + ": the file has grown out of its batch while it was read");
    s.planner.add(f.index, file.layout());
    leased.push_back(std::move(file));
  }
}

bool batch_maker::unchanged(const std::vector<files::mounted_file>& leased) {
  for (const files::mounted_file& file : leased) {
    try {
      file.check();
    } catch (const error&) {
      changed_ = file.layout().name;
      return false;
    }
  }
  return true;
}

void batch_maker::read(slot& s) {
  const std::vector<file_read>& reads = s.planner.reads();
  if (reads.empty()) return;
  const bool by_cpu = options_.way == file_way::cpu;
  const place where = by_cpu ? place::host : session_->client_place();
  const std::size_t bytes = reads.size() * sizeof(file_read);
  const std::size_t results = reads.size() * sizeof(std::uint64_t);
  const int device = session_->options().device;
  if (s.reads.bytes() < bytes || s.reads.where() != where) {
    s.reads = memory_block(where, bytes * 2, device);
    s.outcomes = memory_block(where, results * 2, device);
  }
  s.reads.write(0, reads.data(), bytes);
  const detail::batch_plan plan{static_cast<const file_read*>(s.reads.data()),
                                static_cast<std::uint32_t>(reads.size()), s.memory.buffer(),
                                static_cast<std::uint64_t*>(s.outcomes.data())};
  measured(&file_iterator_statistics::reading,
           [&] { by_cpu ? on_cpu(s, plan) : on_device_(plan); });
  std::vector<std::uint64_t> outcomes(reads.size());
  s.outcomes.read(0, outcomes.data(), results);
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const status said = status::unpack(outcomes[k]);
    if (said.ok()) continue;
    const std::uint32_t index = s.planner.files()[s.planner.owners()[k]].index;
    throw io_error(fmt::format("{}: reading byte {} of its device: {}", name_of(index),
                               reads[k].device_offset, to_string(said)),
                   said);
  }
  const std::lock_guard lock(use_);
  taken_.commands += reads.size();
}

/// By the channel that the session has for this CPU, as many commands at once as it takes.
void batch_maker::on_cpu(const slot& s, const detail::batch_plan& p) {
  array_link& link = session_access::link(*session_);
  const remote_channel& channel = link.host();
  struct sent {
    ticket command;
    std::uint32_t read;
  };
  link.drive([&] {
    std::deque<sent> under_way;
    const auto end_oldest = [&] {
      const sent oldest = under_way.front();
      under_way.pop_front();
      p.outcomes[oldest.read] = channel.wait(oldest.command, simt::within(options_.timeout)).pack();
    };
    for (std::uint32_t k = 0; k < p.count; ++k) {
      const file_read& r = p.reads[k];
      p.outcomes[k] = status{}.pack();
      if (r.device_offset == file_piece::nowhere) continue;
      const auto data = wire::nvme::make_keyed_sgl(p.memory.address + r.to, r.bytes, p.memory.rkey);
      const auto command = wire::nvme::make_read_write(
          wire::nvme::nvm_opcode::read, 0, where_.namespace_id, r.device_offset / where_.lba_bytes,
          r.bytes / where_.lba_bytes, data);
      result<ticket> t = channel.submit(command);
      for (; !t && t.status.code == status_code::would_block && !under_way.empty();) {
        end_oldest();
        t = channel.submit(command);
      }
      if (t) {
        under_way.push_back({t.value, k});
      } else {
        p.outcomes[k] = t.status.pack();
      }
    }
    while (!under_way.empty()) end_oldest();
  });
  // Holes, and what a file's last block has behind it.
  for (std::uint32_t k = 0; k < p.count; ++k) {
    const file_read& r = p.reads[k];
    const std::uint32_t there = r.device_offset == file_piece::nowhere ? 0 : r.valid;
    if (there == r.bytes) continue;
    const std::vector<unsigned char> zeroes(r.bytes - there);
    s.memory.write(r.to + there, zeroes.data(), zeroes.size());
  }
}

struct batch_maker::opened_file {
  file_descriptor file;
};

void batch_maker::by_linux(slot& s) {
  using taken = file_iterator_statistics;
  const std::vector<opened_file> all =
      measured(&taken::preparing, [&] { return open_by_linux(s); });
  std::uint64_t room = 0;
  for (const batched_file& f : s.planner.files()) room = f.offset + batch_planner::room_of(f.bytes);
  staging_.assign(room, 0);
  measured(&taken::reading, [&] { read_by_linux(s, all); });
  measured(&taken::copying, [&] { s.memory.write(0, staging_.data(), room); });
  hand_over(s);
}

std::vector<batch_maker::opened_file> batch_maker::open_by_linux(slot& s) {
  std::vector<opened_file> all;
  for (; at_ < order_.size() && s.planner.files().size() < options_.batch; ++at_) {
    const std::string& path = paths_[order_[at_]];
    opened_file o{file_descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
    struct stat kind {};
    if (!o.file.is_open() || ::fstat(o.file.get(), &kind) != 0)
      throw input_error(fmt::format("{}: {}", path, std::strerror(errno)));
    if (!S_ISREG(kind.st_mode)) throw input_error(path + ": this is no regular file");
    const auto bytes = static_cast<std::uint64_t>(kind.st_size);
    if (!fits(s, path, bytes)) break;
    s.planner.add_unplanned(order_[at_], bytes);
    all.push_back(std::move(o));
  }
  return all;
}

void batch_maker::read_by_linux(const slot& s, const std::vector<opened_file>& all) {
  for (std::size_t k = 0; k < all.size(); ++k) {
    const batched_file& f = s.planner.files()[k];
    for (std::uint64_t done = 0; done < f.bytes;) {
      const ssize_t n = ::pread(all[k].file.get(), staging_.data() + f.offset + done,
                                f.bytes - done, static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        throw error(fmt::format("{}: {}", paths_[f.index],
                                n == 0 ? "the file has become shorter" : std::strerror(errno)));
      }
      done += static_cast<std::uint64_t>(n);
    }
  }
}

void batch_maker::hand_over(slot& s) {
  s.batch.data = static_cast<const unsigned char*>(s.memory.data());
  s.batch.files = s.planner.files();
  const std::lock_guard lock(use_);
  ++taken_.batches;
  taken_.files += s.batch.files.size();
  for (const batched_file& f : s.batch.files) taken_.bytes += f.bytes;
}

}  // namespace gnstor::host
