#pragma once

#include "batch_planner.hpp"
#include <gnstor/files/mounted_file.hpp>
#include <gnstor/host/file_iterator.hpp>
#include <gnstor/host/registered_memory.hpp>

#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace gnstor::host {

/// Makes the batches of a `file_iterator`, one after the other; one thread at a time.
class batch_maker {
 public:
  using runner = std::function<void(const detail::batch_plan&)>;

  /// A batch's memory and plan, used again and again.
  struct slot {
    slot(session& s, const volume_info& where, std::uint64_t room)
        : memory(s, room), planner(where, room) {}
    registered_memory memory;
    memory_block reads;     ///< where kernels reach them
    memory_block outcomes;  ///< likewise
    batch_planner planner;
    file_batch batch;
    std::exception_ptr failure;
  };

  batch_maker(session& s, const volume_info& where, const file_iterator_options& o,
              runner on_device)
      : session_(&s), where_(where), options_(o), on_device_(std::move(on_device)) {}

  void give(std::vector<std::string> paths) {
    paths_ = std::move(paths);
    order(paths_.size());
  }
  void give(std::vector<files::file_layout> layouts) {
    layouts_ = std::move(layouts);
    order(layouts_.size());
  }
  std::uint64_t size() const { return order_.size(); }
  bool is_over() const { return at_ == order_.size(); }
  /// Begins again, in another order if it is drawn.
  void rewind() { order(order_.size()); }

  /// Makes the next batch. Throws what `file_iterator::next` throws.
  void make(slot& s);

  file_iterator_statistics taken() const;
  void count_waiting(duration d);

 private:
  struct opened_file;

  template <class Step>
  auto measured(duration file_iterator_statistics::*sum, const Step& step);
  void order(std::size_t count);
  void gather(slot& s, std::vector<files::mounted_file>& leased);
  bool fits(const slot& s, const std::string& name, std::uint64_t bytes) const;
  void plan_again(slot& s, std::vector<files::mounted_file>& leased);
  bool unchanged(const std::vector<files::mounted_file>& leased);
  void read(slot& s);
  void on_cpu(const slot& s, const detail::batch_plan& p);
  void by_linux(slot& s);
  std::vector<opened_file> open_by_linux(slot& s);
  void read_by_linux(const slot& s, const std::vector<opened_file>& all);
  void hand_over(slot& s);
  const std::string& name_of(std::uint32_t index) const {
    return paths_.empty() ? layouts_[index].name : paths_[index];
  }

  session* session_;
  volume_info where_;
  file_iterator_options options_;
  runner on_device_;
  std::vector<std::string> paths_;
  std::vector<files::file_layout> layouts_;
  std::vector<std::uint32_t> order_;
  std::size_t at_ = 0;  ///< in `order_`
  std::uint64_t pass_ = 0;
  bool same_disk_ = false;              ///< was looked at
  std::string changed_;                 ///< the file that changed last
  std::vector<unsigned char> staging_;  ///< of what Linux reads
  mutable std::mutex use_;              ///< of what follows
  file_iterator_statistics taken_;
};

}  // namespace gnstor::host
