#include "batch_maker.hpp"
#include "same_disk.hpp"
#include <base/start_thread.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/host/file_iterator.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <thread>
#include <utility>

namespace gnstor::host {

/// Batches in their order: the front one is the caller's, the others are read ahead by a thread.
struct file_iterator::state {
  state(session& s, const volume_info& where, const file_iterator_options& o, runner on_device)
      : options(o), maker(s, where, o, std::move(on_device)) {
    for (std::uint32_t k = 0; k <= o.ahead; ++k) slots.emplace_back(s, where, o.batch_bytes);
    for (batch_maker::slot& one : slots) idle.push_back(&one);
  }
  ~state() { stop(); }

  void start() {
    over = false;
    if (options.ahead != 0)
      thread = start_thread("read ahead", "reading files ahead", [this] { read_ahead(); });
  }
  void stop() {
    {
      const std::lock_guard lock(use);
      over = true;
    }
    changed.notify_all();
    if (thread.joinable()) thread.join();
    for (batch_maker::slot* s : ready) idle.push_back(s);
    ready.clear();
    if (lent != nullptr) idle.push_back(std::exchange(lent, nullptr));
    ended = false;
    broken = nullptr;
  }
  /// Makes a batch, or keeps why not. False: there is none any more.
  bool make(batch_maker::slot& s) {
    s.failure = nullptr;
    if (maker.is_over()) return false;
    try {
      maker.make(s);
    } catch (...) {
      s.failure = std::current_exception();
    }
    return true;
  }
  void read_ahead() {
    for (bool more = true; more;) {
      batch_maker::slot* s = nullptr;
      {
        std::unique_lock lock(use);
        changed.wait(lock, [&] { return over || !idle.empty(); });
        if (over) return;
        s = idle.front();
        idle.pop_front();
      }
      more = make(*s) && !s->failure;
      const std::lock_guard lock(use);
      const bool is_batch = more || s->failure;
      (is_batch ? ready : idle).push_back(s);
      if (!more) ended = true;
      changed.notify_all();
    }
  }
  /// The next slot; null at the end.
  batch_maker::slot* take() {
    std::unique_lock lock(use);
    if (lent != nullptr) idle.push_back(std::exchange(lent, nullptr));
    if (options.ahead == 0) {
      if (!make(*idle.front())) return nullptr;
      ready.push_back(idle.front());
      idle.pop_front();
    }
    changed.notify_all();
    const std::uint64_t began = simt::now_ns();
    changed.wait(lock, [&] { return !ready.empty() || ended; });
    maker.count_waiting(duration::of_ns(simt::now_ns() - began));
    if (ready.empty()) return nullptr;
    lent = ready.front();
    ready.pop_front();
    return lent;
  }

  file_iterator_options options;
  batch_maker maker;
  std::deque<batch_maker::slot> slots;
  std::mutex use;  ///< of what follows
  std::condition_variable changed;
  std::deque<batch_maker::slot*> idle;
  std::deque<batch_maker::slot*> ready;
  batch_maker::slot* lent = nullptr;
  bool over = false;          ///< the thread is to end
  bool ended = false;         ///< it has nothing more to make
  std::exception_ptr broken;  ///< what `next` throws until files are gone through again
  std::thread thread;
};

file_iterator::file_iterator(session& s, const volume_info& where,
                             const file_iterator_options& options, runner on_device) {
  if (!where.plain())
    throw input_error(
        "files lie on plain namespaces (emu-nvme:, nvme://), not on an array's volumes");
  refuse_striped(where, "a volume of several controllers");
  if (options.batch == 0 || options.batch_bytes < block_bytes)
    throw input_error("file_iterator_options: a batch has at least one file and 4096 bytes");
  if (options.lanes == 0 || options.lanes > 1024)
    throw input_error(fmt::format("file_iterator_options::lanes {}: use 1 to 1024", options.lanes));
  state_ = std::make_unique<state>(s, where, options, std::move(on_device));
}
file_iterator::file_iterator(file_iterator&&) noexcept = default;
file_iterator& file_iterator::operator=(file_iterator&&) noexcept = default;
file_iterator::~file_iterator() = default;

void file_iterator::give_paths(std::vector<std::string> paths) {
  state_->maker.give(std::move(paths));
  state_->start();
}
void file_iterator::give_layouts(std::vector<files::file_layout> layouts) {
  if (state_->options.way == file_way::posix) {
    throw input_error(
        "way=posix reads files by Linux: give their paths, of a file system that is mounted");
  }
  state_->maker.give(std::move(layouts));
  state_->start();
}

std::uint64_t file_iterator::size() const { return state_->maker.size(); }

const file_batch* file_iterator::next() {
  if (state_->broken) std::rethrow_exception(state_->broken);
  batch_maker::slot* const s = state_->take();
  if (s == nullptr) return nullptr;
  if (s->failure) {
    state_->broken = s->failure;
    std::rethrow_exception(s->failure);
  }
  return &s->batch;
}

void file_iterator::rewind() {
  state_->stop();
  state_->maker.rewind();
  state_->start();
}

file_iterator_statistics file_iterator::statistics() const { return state_->maker.taken(); }

std::vector<std::string> files_below(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code problem;
  std::vector<std::string> paths;
  fs::recursive_directory_iterator at(folder, problem);
  if (problem) throw input_error(fmt::format("{}: {}", folder, problem.message()));
  for (; at != fs::recursive_directory_iterator(); at.increment(problem)) {
    if (problem) throw input_error(fmt::format("{}: {}", folder, problem.message()));
    if (at->is_regular_file(problem) && !at->is_symlink(problem)) paths.push_back(at->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace gnstor::host
