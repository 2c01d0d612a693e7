#include <gnstor/host/error.hpp>
#include <gnstor/host/key_value_table.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <random>

namespace gnstor::host {

key_value_table::key_value_table(const nic& where, const key_value_options& options) {
  using control = gnstor::key_value_table::control;
  constexpr std::uint64_t most_slots = std::uint64_t{1} << 32;
  if (!std::has_single_bit(options.slots) || options.slots < key_value_shape::ways ||
      options.slots > most_slots) {
    throw input_error(fmt::format("key_value_table: {} slots: use a power of two from {} to {}",
                                  options.slots, key_value_shape::ways, most_slots));
  }
  if (options.value_bytes == 0 || options.value_bytes > key_value_shape::most_value_bytes) {
    throw input_error(fmt::format(
        "key_value_table: values of {} bytes: use 1 to {}, so that an answer is one datagram",
        options.value_bytes, key_value_shape::most_value_bytes));
  }
  const key_value_shape shape{options.slots / key_value_shape::ways, options.value_bytes};
  control_at_ = shape.words() * sizeof(std::uint64_t);
  memory_ = where.allocate(control_at_ + sizeof(control));
  std::uint64_t seed = options.seed;
  if (seed == 0) {
    std::random_device random;
    seed = std::uint64_t{random()} << 32 | random();
  }
  auto* const base = static_cast<unsigned char*>(memory_.data());
  ref_ = gnstor::key_value_table(shape, reinterpret_cast<std::uint64_t*>(base),
                                 reinterpret_cast<control*>(base + control_at_), seed,
                                 options.patience.ns());
}

void key_value_table::set_clock(std::chrono::system_clock::time_point now) {
  using control = gnstor::key_value_table::control;
  const auto since = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  auto seconds = static_cast<std::uint64_t>(since.count());
  const std::size_t at = control_at_ + offsetof(control, now_s);
  if (memory_.where() == place::host) {
    auto* const there =
        reinterpret_cast<std::uint64_t*>(static_cast<unsigned char*>(memory_.data()) + at);
    system_word<std::uint64_t>(*there).store(seconds, relaxed);
  } else {
    memory_.write(at, &seconds, sizeof seconds);
  }
}

key_value_counts key_value_table::counts() const {
  using control = gnstor::key_value_table::control;
  const std::size_t at = control_at_ + offsetof(control, counts);
  key_value_counts c;
  if (memory_.where() != place::host) {
    memory_.read(at, &c, sizeof c);
    return c;
  }
  std::uint64_t words[sizeof c / sizeof(std::uint64_t)];
  auto* const there =
      reinterpret_cast<std::uint64_t*>(static_cast<unsigned char*>(memory_.data()) + at);
  for (std::size_t k = 0; k < std::size(words); ++k)
    words[k] = system_word<std::uint64_t>(there[k]).load(relaxed);
  std::memcpy(&c, words, sizeof c);
  return c;
}

}  // namespace gnstor::host
