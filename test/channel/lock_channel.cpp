/// The lock-based channel that benchmarks compare with: it must be right to be worth a comparison.
#include "../../benchmark/baselines/lock_channel.hpp"

#include "exchange_run.hpp"
#include <gnstor/volume/volume_ref.hpp>

namespace gnstor::test {

/// Request slots of a lock-based channel that are not free.
template <class QP>
std::uint32_t slots_in_use(memory_image& image, const baseline::lock_channel<QP>& channel) {
  return baseline::lock_channel<QP>(channel.queue(), image.here(&channel.counters())).in_use();
}

}  // namespace gnstor::test

using namespace gnstor;
using namespace gnstor::test;

namespace {

using locked = baseline::lock_channel<>;

/// Benchmarks read and write volumes through it: what `volume_ref` asks of a channel it has.
[[maybe_unused]] constexpr auto reads_a_volume = &volume_ref<locked>::read<io_buffer>;
[[maybe_unused]] constexpr auto writes_a_volume = &volume_ref<locked>::write<io_buffer>;

std::string exchanged_locked(host::options chosen, exchange_shape s = {}) {
  return exchanged<locked>(chosen, s);
}
/// Any request of a default exchange, by seed.
std::uint32_t any_request(host::options o) {
  return static_cast<std::uint32_t>(mix64(o.seed) % exchange_shape{}.requests());
}

}  // namespace

TEST_CASE("behind locks every request gets its own answer, fast") {
  CHECK(exchanged_locked({}, {.blocks = 2, .lanes = 32, .rounds = 20, .channels = 3}) == "");
}

TEST_CASE("behind locks every request gets its own answer, seeded") {
  sweep(host::mode::seeded, 200, [](host::options o) { return exchanged_locked(o); });
}

TEST_CASE("behind locks every request gets its own answer, weak") {
  sweep(host::mode::weak, 100, [](host::options o) { return exchanged_locked(o); });
}

TEST_CASE("behind locks more lanes than request slots get through, seeded") {
  sweep(host::mode::seeded, 50, [](host::options o) {
    return exchanged_locked(o, {.blocks = 2, .lanes = 5, .rounds = 3, .channels = 1});
  });
}

TEST_CASE("behind locks silence times out for the lane that asked, seeded") {
  sweep(host::mode::seeded, 100, [](host::options o) {
    return exchanged<locked>(o, {}, [&](auto& f) { f.client.silent = any_request(o); });
  });
}

TEST_CASE("behind locks a broken queue pair ends every request, seeded") {
  sweep(host::mode::seeded, 100, [](host::options o) {
    return exchanged<locked>(o, {}, [&](auto& f) {
      f.break_at(any_request(o), ask::break_send, wire::mlx5::syndrome::remote_access_error);
    });
  });
}
