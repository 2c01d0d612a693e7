#pragma once

#include <gnstor/channel/remote_channel.hpp>
#include <gnstor/files/file_layout.hpp>
#include <gnstor/files/namespace_reader.hpp>
#include <gnstor/files/read_batch.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gnstor::detail {

/// What has to be read for a batch, for whoever reads it.
struct batch_plan {
  const file_read* reads = nullptr;  ///< where kernels reach them
  std::uint32_t count = 0;
  io_buffer memory;
  std::uint64_t* outcomes = nullptr;  ///< likewise, one for each
};

}  // namespace gnstor::detail

namespace gnstor::host {

/// Who reads the files of a `file_iterator`.
enum class file_way : std::uint8_t {
  posix,   ///< Linux, by its file system; their bytes are copied to where kernels reach them
  cpu,     ///< this CPU, by NVMe commands straight into that memory
  device,  ///< a kernel, by NVMe commands of its own
};

struct file_iterator_options {
  std::uint32_t batch = 32;              ///< files of a batch at most
  std::uint64_t batch_bytes = 16 << 20;  ///< their bytes at most, each rounded up to 4096
  std::uint32_t ahead = 1;               ///< batches that are read before they are asked for
  std::optional<std::uint64_t> shuffle;  ///< seed of the order; none: as they were given
  file_way way = file_way::device;
  std::uint32_t lanes = 32;                     ///< of each channel, with way=device
  duration timeout = std::chrono::seconds(10);  ///< of each command
};

/// One file in a batch.
struct batched_file {
  std::uint32_t index = 0;   ///< among those that were given
  std::uint64_t offset = 0;  ///< in the batch's memory; a multiple of 4096
  std::uint64_t bytes = 0;
};

/// Files that were read, in memory that kernels reach. It is the caller's until `next` is called
/// again.
struct file_batch {
  const unsigned char* data = nullptr;
  std::vector<batched_file> files;
};

/// What an iterator did so far, and how long each step took, added up over all batches.
struct file_iterator_statistics {
  std::uint64_t batches = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t commands = 0;
  duration preparing;  ///< opening and leasing files, asking where they lie, planning
  duration reading;    ///< commands, or `pread`
  duration copying;    ///< of way=posix, to where kernels reach them
  duration checking;   ///< that no file has changed meanwhile
  duration waiting;    ///< that `next` waited for a batch
};

/// Goes through files in batches, in an order drawn from a seed, and reads batches ahead of who
/// uses them. Move-only owner; the session must outlive it. One thread at a time.
///
///     host::file_iterator files(s, disk, host::files_below("/data/train"), {.shuffle = 7});
///     while (const host::file_batch* batch = files.next()) train(batch->data, batch->files);
///
/// A mounted file is leased while it is read, and handed over only if nobody has changed it
/// meanwhile; one that was changed is read again.
class file_iterator {
 public:
  /// Files that this machine has mounted, by their paths. The file system lies on `where`.
  file_iterator(session& s, const volume_info& where, std::vector<std::string> paths,
                const file_iterator_options& options = {})
      : file_iterator(s, where, options, device_runner(s, where, options)) {
    give_paths(std::move(paths));
  }
  /// Files that nobody changes, by where they lie: their file system is not mounted, or frozen.
  file_iterator(session& s, const volume_info& where, std::vector<files::file_layout> layouts,
                const file_iterator_options& options = {})
      : file_iterator(s, where, options, device_runner(s, where, options)) {
    give_layouts(std::move(layouts));
  }
  file_iterator(file_iterator&&) noexcept;
  file_iterator& operator=(file_iterator&&) noexcept;
  ~file_iterator();

  std::uint64_t size() const;
  /// The next batch; null once all files have come. What the call before returned is not valid any
  /// more.
  ///
  /// Throws `input_error` for a file that cannot be read so, or is larger than a batch; `io_error`
  /// for what a command ended with; `error` for a file that changes again and again (stale).
  const file_batch* next();
  /// Begins from the first file again; a shuffled order is another one, drawn from the seed too.
  void rewind();
  file_iterator_statistics statistics() const;

 private:
  using runner = std::function<void(const detail::batch_plan&)>;
  file_iterator(session& s, const volume_info& where, const file_iterator_options& options,
                runner on_device);
  void give_paths(std::vector<std::string> paths);
  void give_layouts(std::vector<files::file_layout> layouts);

  /// Runs the kernel on the machine that the user's program is compiled for.
  static runner device_runner(session& s, const volume_info& where,
                              const file_iterator_options& o) {
    return [&s, where, o](const detail::batch_plan& p) {
      const channel_set<remote_channel> channels = s.channels();
      const namespace_reader<remote_channel> reader(channels, where.namespace_id, where.lba_bytes,
                                                    where.max_transfer_blocks * block_bytes);
      executor run;
      run.spawn(channels.size(), o.lanes, read_batch{}, reader, p.reads, p.count, p.memory,
                o.timeout.ns(), p.outcomes);
      s.attach(run);
      run.run();
    };
  }

  struct state;
  std::unique_ptr<state> state_;
};

/// The regular files below a folder of this machine, in the order of their paths. Throws
/// `input_error` for a folder that is not there.
std::vector<std::string> files_below(const std::string& folder);

}  // namespace gnstor::host
