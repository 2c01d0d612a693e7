#pragma once
/// Processes that write numbers to a volume over and over and are killed, and what must be there.

#include "temp_folder.hpp"
#include <gnstor/core/hash.hpp>
#include <gnstor/core/units.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/atomic_ref.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace gnstor::test {

/// Who writes where: each writer has blocks of its own, and one write under way.
struct written_numbers {
  std::uint32_t writers;
  std::uint32_t blocks;  ///< of each writer
  bool scattered;        ///< else in order

  GNSTOR_HD std::uint32_t position(std::uint32_t writer, std::uint64_t number) const {
    return writer * blocks +
           static_cast<std::uint32_t>((scattered ? mix64(number) : number) % blocks);
  }
  /// What every word of the block then holds, so that a torn one shows.
  GNSTOR_HD static constexpr std::uint64_t word(std::uint32_t writer, std::uint64_t number) {
    return std::uint64_t{writer} << 48 | number;
  }
  std::uint64_t bytes() const { return std::uint64_t{writers} * blocks * block_bytes; }
};

/// The last number of each writer that the array has acknowledged, in a file that outlives them.
class ledger {
 public:
  ledger(const std::string& path, std::uint32_t writers)
      : bytes_((8 * writers + 4095) / 4096 * 4096) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0)
      throw std::runtime_error("no ledger " + path);
    words_ = static_cast<std::uint64_t*>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
    if (words_ == MAP_FAILED) throw std::runtime_error("no room for a ledger");
  }
  ledger(const ledger&) = delete;
  ledger& operator=(const ledger&) = delete;
  ~ledger() { munmap(words_, bytes_); }

  std::uint64_t* words() const { return words_; }
  std::size_t bytes() const { return bytes_; }
  system_word<std::uint64_t> operator[](std::uint32_t writer) const {
    return system_word<std::uint64_t>(words_[writer]);
  }

 private:
  std::size_t bytes_;
  std::uint64_t* words_;
};

/// The volume of the numbers, which the first process creates.
inline volume_info numbered_volume(host::session& s, const written_numbers& n) {
  return s.volumes().empty() ? s.create_volume({.bytes = n.bytes()}) : s.open_volume(volume_id(1));
}

/// Writes from this CPU, as one writer, until it is killed.
inline void write_for_ever(const std::string& endpoint, const written_numbers& n,
                           const ledger& progress) {
  host::session s(endpoint, {.channels = 1, .depth = 16});
  const volume_info v = numbered_volume(s, n);
  std::vector<std::uint64_t> block(block_bytes / 8);
  for (std::uint64_t number = progress[0].load(relaxed) + 1;; ++number) {
    block.assign(block.size(), n.word(0, number));
    s.write(v, std::uint64_t{n.position(0, number)} * block_bytes, block.data(), block_bytes);
    progress[0].store(number, release);
  }
}

/// Starts processes that write, and kills them again and again.
struct killed_writers {
  std::string endpoint;
  written_numbers what;
  const ledger& progress;
  std::uint64_t most_before_kill = 400;

  /// Every block must hold the last number that was acknowledged, or the one that was under way.
  /// @param start starts one, with the ledger as it is: gives its process id
  /// @return numbers acknowledged
  template <class Start>
  std::uint64_t survive(int kills, const Start& start) const {
    std::mt19937 random(6);
    std::vector<std::uint64_t> acknowledged(what.bytes() / block_bytes);
    std::vector<std::uint64_t> next(what.writers, what.blocks);
    std::uint64_t written = 0;
    for (int kill_number = 0; kill_number < kills; ++kill_number) {
      CAPTURE(kill_number);
      for (std::uint32_t w = 0; w < what.writers; ++w) progress[w].store(next[w] - 1, relaxed);
      const pid_t child = start();
      REQUIRE(child > 0);
      // Most are killed after some hundred writes, however slow the machine; some while they start.
      wait_for(child, next[0] - 1 + (kill_number % 4 == 0 ? 0 : 1 + random() % most_before_kill));
      usleep(static_cast<useconds_t>(random() % 10'000));
      kill(child, SIGKILL);
      int how = 0;
      REQUIRE(waitpid(child, &how, 0) == child);
      REQUIRE(WIFSIGNALED(how));
      bool any = false;
      for (std::uint32_t w = 0; w < what.writers; ++w) {
        const std::uint64_t last = progress[w].load(acquire);
        for (; next[w] <= last; ++next[w], ++written)
          acknowledged[what.position(w, next[w])] = what.word(w, next[w]);
        any = any || written != 0;
      }
      check(acknowledged, next, any);
      // The number under way may be there or not: the next child begins with others.
      for (std::uint64_t& n : next) n += what.blocks;
    }
    return written;
  }

 private:
  /// Waits until the first writer has come to `number`.
  void wait_for(pid_t child, std::uint64_t number) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (progress[0].load(relaxed) < number) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      REQUIRE(kill(child, 0) == 0);
      int how = 0;
      REQUIRE(waitpid(child, &how, WNOHANG) == 0);
      usleep(200);
    }
  }
  void check(std::vector<std::uint64_t>& acknowledged, const std::vector<std::uint64_t>& next,
             bool any) const {
    host::session s(endpoint);
    if (s.volumes().empty()) {
      REQUIRE_FALSE(any);
      return;
    }
    std::vector<std::uint64_t> found(what.bytes() / 8);
    s.read(s.open_volume(volume_id(1)), 0, found.data(), found.size() * 8);
    for (std::uint32_t b = 0; b < acknowledged.size(); ++b) {
      const std::uint64_t* block = found.data() + std::size_t{b} * block_bytes / 8;
      const std::uint32_t w = b / what.blocks;
      CAPTURE(b);
      const std::vector<std::uint64_t> whole(block_bytes / 8, block[0]);
      REQUIRE(std::memcmp(block, whole.data(), block_bytes) == 0);
      const bool under_way = what.position(w, next[w]) == b && block[0] == what.word(w, next[w]);
      REQUIRE((block[0] == acknowledged[b] || under_way));
      acknowledged[b] = block[0];
    }
  }
};

}  // namespace gnstor::test
