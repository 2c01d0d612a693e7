#pragma once
/// Warps that have a channel to themselves read and write a volume: the same on a CPU and on a GPU.

#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/volume/exclusive_volume.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

namespace gnstor::test {

/// One request of a lane; of none, no blocks.
struct owned_request {
  enum class what : std::uint32_t { read, write, scattered_read, deallocate };
  what kind = what::read;
  std::uint32_t first = 0;
  std::uint32_t blocks = 0;
  std::uint32_t at = 0;  ///< block of the buffer
  std::uint64_t outcome = 0;
};

/// Lane k of the grid does requests k, k + lanes, ...: all lanes of its warp come along each time.
struct do_owned_requests {
  std::uint32_t rounds = 0;
  std::uint64_t timeout_ns = 20'000'000'000;
  bool again = true;  ///< flush, and read once more by other means at the end

  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume v, owned_request* requests,
                            io_buffer buffer) const {
    const simt::group g = lane.warp();
    exclusive_volume mine(g, v);
    for (std::uint32_t k = 0; k < rounds; ++k)
      one(g, mine, requests[k * lane.grid_threads() + lane.global_thread()], buffer);
    if (again && !mine.flush(g, simt::within(timeout_ns)).ok())
      requests[lane.global_thread()].outcome = 1;
    mine.release(g);
    // The channel is anybody's again.
    owned_request& last = requests[(rounds - 1) * lane.grid_threads() + lane.global_thread()];
    if (last.blocks == 0 || !again) return;
    const status s =
        v.read(vba(last.first), last.blocks, part_of(last, buffer), simt::within(timeout_ns));
    if (!s.ok()) last.outcome = s.pack();
  }

 private:
  GNSTOR_HD static io_buffer part_of(const owned_request& r, const io_buffer& buffer) {
    return buffer.slice(std::uint64_t{r.at} * block_bytes, std::uint64_t{r.blocks} * block_bytes);
  }
  GNSTOR_HD void one(const simt::group& g, exclusive_volume<>& mine, owned_request& r,
                     io_buffer buffer) const {
    const deadline d = simt::within(timeout_ns);
    const io_buffer part = part_of(r, buffer);
    const auto is = [&](owned_request::what kind) { return r.blocks != 0 && r.kind == kind; };
    // Two segments, the second half first.
    const std::uint32_t half = r.blocks / 2;
    const io_buffer halves[2] = {
        part.slice(std::uint64_t{half} * block_bytes, (r.blocks - half) * block_bytes),
        part.slice(0, half * block_bytes)};
    status s;
    const auto note = [&](status got) {
      if (!got.ok()) s = got;
    };
    note(mine.write(g, vba(r.first), r.blocks, part, d, is(owned_request::what::write)));
    note(mine.read(g, vba(r.first), r.blocks, part, d, is(owned_request::what::read)));
    note(mine.read(g, vba(r.first), r.blocks, scatter_list{halves, half != 0 ? 2u : 1u}, d,
                   is(owned_request::what::scattered_read)));
    note(mine.deallocate(g, vba(r.first), r.blocks, d, is(owned_request::what::deallocate)));
    if (r.blocks != 0) r.outcome = s.pack();
  }
};

/// The requests of a run, in memory that kernels see, behind the data.
class owned_run {
 public:
  owned_run(gnstor::host::session& s, std::uint32_t data_blocks, std::uint32_t warps,
            std::uint32_t rounds)
      : requests(std::size_t{warps} * 32 * rounds),
        session_(s),
        warps_(warps),
        rounds_(rounds),
        data_bytes_(std::size_t{data_blocks} * block_bytes),
        memory_(s.allocate(data_bytes_ + requests.size() * sizeof(owned_request))),
        buffer_(s.register_memory(memory_.data(), memory_.bytes())) {}
  owned_run(const owned_run&) = delete;
  owned_run& operator=(const owned_run&) = delete;
  ~owned_run() { session_.unregister_memory(buffer_); }

  void put(const std::vector<unsigned char>& bytes) {
    memory_.write(0, bytes.data(), bytes.size());
  }
  std::vector<unsigned char> data() const {
    std::vector<unsigned char> out(data_bytes_);
    memory_.read(0, out.data(), out.size());
    return out;
  }
  /// Does the requests; their outcomes are there afterwards.
  void run(const volume_info& v, do_owned_requests how = {}) {
    how.rounds = rounds_;
    const std::size_t bytes = requests.size() * sizeof(owned_request);
    memory_.write(data_bytes_, requests.data(), bytes);
    auto* there =
        reinterpret_cast<owned_request*>(static_cast<unsigned char*>(memory_.data()) + data_bytes_);
    gnstor::host::executor machine;
    machine.spawn(warps_, 32, how, session_.ref(v), there, buffer_);
    session_.attach(machine);
    machine.run();
    memory_.read(data_bytes_, requests.data(), bytes);
  }

  std::vector<owned_request> requests;

 private:
  gnstor::host::session& session_;
  std::uint32_t warps_;
  std::uint32_t rounds_;
  std::size_t data_bytes_;
  gnstor::host::memory_block memory_;
  io_buffer buffer_;
};

/// Ranges of all sizes written, cleared and read by lanes of warps with own channels, against what
/// they should leave.
inline void owned_volumes_hold_what_was_written(const std::string& endpoint, std::uint32_t replicas,
                                                std::uint32_t depth) {
  using what = owned_request::what;
  CAPTURE(endpoint);
  CAPTURE(replicas);
  CAPTURE(depth);
  constexpr std::uint32_t warps = 2;
  constexpr std::uint32_t lanes = 32 * warps;
  constexpr std::uint32_t area = 12;  // blocks of a lane
  constexpr std::uint32_t rounds = 4;
  constexpr std::uint32_t blocks = lanes * area;
  gnstor::host::session s(endpoint, {.channels = warps, .depth = depth});
  const volume_info v =
      s.create_volume({.bytes = blocks * block_bytes, .replicas = replicas, .stripe_blocks = 4});
  owned_run r(s, 2 * blocks, warps, rounds);
  std::mt19937 random(replicas * 100 + depth);
  std::vector<unsigned char> source(2 * blocks * block_bytes);
  for (auto& b : source) b = static_cast<unsigned char>(random());
  std::vector<unsigned char> expected(blocks * block_bytes);
  for (std::uint32_t k = 0; k < r.requests.size(); ++k) {
    owned_request& one = r.requests[k];
    const std::uint32_t lane = k % lanes;
    one.kind = random() % 4 == 0 ? what::deallocate : what::write;
    one.blocks = random() % 3 == 0 ? 0 : 1 + random() % area;
    one.first = lane * area + random() % (area - one.blocks + 1);
    one.at = random() % (2 * blocks - area);
    // The last round ends with a read by other means, which must not change what others send.
    if (k / lanes == rounds - 1 && one.blocks != 0)
      one = {what::write, lane * area, 1, lane * area};
    for (std::uint32_t b = 0; b < one.blocks; ++b) {
      unsigned char* to = expected.data() + (one.first + b) * block_bytes;
      if (one.kind == what::write) {
        std::memcpy(to, source.data() + (one.at + b) * block_bytes, block_bytes);
      } else {
        std::memset(to, 0, block_bytes);
      }
    }
  }
  r.put(source);
  r.run(v);
  for (const owned_request& one : r.requests) REQUIRE(one.outcome == 0);
  std::vector<unsigned char> all(expected.size());
  s.read(v, 0, all.data(), all.size());
  REQUIRE((all == expected));

  std::vector<unsigned char> read(2 * blocks * block_bytes, 0xee);
  for (std::uint32_t k = 0; k < r.requests.size(); ++k) {
    owned_request& one = r.requests[k];
    const std::uint32_t lane = k % lanes;
    // Each round has its quarter of the lane's area, and of its buffer.
    const std::uint32_t quarter = area / rounds;
    one = {random() % 2 == 0 ? what::read : what::scattered_read, lane * area + k / lanes * quarter,
           static_cast<std::uint32_t>(random() % (quarter + 1)), lane * area + k / lanes * quarter};
    if (k / lanes == rounds - 1) one.kind = what::read;  // and once more, by other means
    const std::uint32_t half = one.kind == what::scattered_read ? one.blocks / 2 : 0;
    for (std::uint32_t b = 0; b < one.blocks; ++b) {
      const std::uint32_t to = (b + half) % (one.blocks == 0 ? 1 : one.blocks);
      std::memcpy(read.data() + (one.at + to) * block_bytes,
                  expected.data() + (one.first + b) * block_bytes, block_bytes);
    }
  }
  r.put(std::vector<unsigned char>(read.size(), 0xee));
  r.run(v);
  for (const owned_request& one : r.requests) REQUIRE(one.outcome == 0);
  CHECK((r.data() == read));
}

}  // namespace gnstor::test
