#pragma once
/// What processes and gnstor-homid say to each other: one message for each request and each reply,
/// of one machine, so that numbers are as the machine has them.

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace gnstor::host::homi {

inline constexpr std::uint32_t protocol_version = 1;
inline constexpr std::uint32_t most_queues = 65;      ///< of a client
inline constexpr std::uint32_t most_namespaces = 32;  ///< that a client hears of
inline constexpr std::uint32_t most_clients = 256;    ///< in a report

enum class verb : std::uint32_t {
  open = 1,  ///< a: queues wanted. The first request; its reply brings the doorbells' file
  share,     ///< a: bytes, with a memfd. Reply: a: DMA address, b: its id
  unshare,   ///< a: the id
  create,    ///< a: queue, b: entries, c: submissions, d: completions (DMA addresses), e: priority
  remove,    ///< a: queue
  report,    ///< who has what: of anybody, also without `open`
};

struct request {
  std::uint32_t version = protocol_version;
  verb what = verb::report;
  std::uint64_t a = 0, b = 0, c = 0, d = 0, e = 0;
  char program[40] = {};  ///< of `open`: who asks, for reports
};

enum class outcome : std::uint32_t {
  done = 0,
  refused,  ///< by what was asked for, or a quota: `text`
  failed,   ///< by the controller or the system: `text`
};

struct reply {
  std::uint32_t version = protocol_version;
  outcome how = outcome::done;
  std::uint64_t a = 0, b = 0;
  char text[240] = {};
};

/// Behind the reply to `open`.
struct opened {
  char controller[64] = {};
  std::uint32_t max_queue_entries = 0;
  std::uint32_t max_transfer_bytes = 0;
  std::uint64_t doorbell_offset = 0;  ///< in their file, of what is to be mapped
  std::uint64_t doorbell_bytes = 0;   ///< of that
  std::uint64_t doorbell_first = 0;   ///< in that, of queue 0's tail
  std::uint32_t doorbell_stride = 0;  ///< bytes
  std::uint32_t queue_count = 0;
  std::uint16_t queues[most_queues] = {};
  std::uint32_t namespace_count = 0;
  struct space {
    std::uint32_t nsid = 0;
    std::uint32_t data_shift = 0;
    std::uint64_t blocks = 0;
    std::uint32_t metadata_bytes = 0;
    std::uint32_t protection = 0;
  } spaces[most_namespaces];
};

/// Behind the reply to `report`: `a` of these, and the last one's fields of the whole daemon.
struct client_report {
  char program[40] = {};
  std::uint32_t process = 0;
  std::uint32_t user = 0;
  std::uint32_t queues = 0;  ///< granted
  std::uint32_t made = 0;    ///< of them, created now
  std::uint64_t bytes = 0;   ///< shared
};

template <class T>
void append(std::string& text, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}
/// Takes a value from `text` at `at`. False if it ends before.
template <class T>
bool take(const std::string& text, std::size_t& at, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (at > text.size() || text.size() - at < sizeof value) return false;
  std::memcpy(&value, text.data() + at, sizeof value);
  at += sizeof value;
  return true;
}
/// Copies a text into a field, as much as fits; it ends with a zero.
template <std::size_t N>
void put_text(char (&field)[N], const std::string& text) {
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), text.size() < N ? text.size() : N - 1);
}
/// The text in a field that somebody else has filled.
template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  return std::string(field, ::strnlen(field, N));
}

}  // namespace gnstor::host::homi
