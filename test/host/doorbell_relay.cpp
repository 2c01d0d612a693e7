/// Doorbells in memory, and the thread that rings the registers.
#include <gnstor/host/error.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/clock.hpp>

#include <doctest/doctest.h>
#include <local/doorbell_relay.hpp>

#include <thread>
#include <vector>

using namespace gnstor;
namespace host = gnstor::host;

namespace {

void await(std::uint32_t& word, std::uint32_t value) {
  const deadline d = simt::within(10'000'000'000);
  while (system_word<std::uint32_t>(word).load(acquire) != value && !d.expired(simt::now_ns()))
    std::this_thread::yield();
  CHECK(system_word<std::uint32_t>(word).load(acquire) == value);
}

}  // namespace

TEST_CASE("what is rung in memory reaches the queue's own register, after what it announces") {
  constexpr std::uint32_t queues = 3;
  std::vector<std::uint32_t> registers(4 * queues, 77);
  std::vector<std::uint64_t> entries(queues, 0);
  host::doorbell_relay relay(queues);
  std::vector<nvme_pcie_doorbells> bells;
  for (std::uint32_t k = 0; k < queues; ++k) bells.push_back(relay.add(&registers[4 * k], 8));
  CHECK_THROWS_AS((void)relay.add(&registers[0], 8), host::error);
  std::vector<std::thread> lanes;
  for (std::uint32_t k = 0; k < queues; ++k) {
    lanes.emplace_back([&, k] {
      for (std::uint32_t n = 1; n <= 200; ++n) {
        entries[k] = 1000 * k + n;  // not atomic: the register's reader may look
        system_word<std::uint32_t>(*bells[k].tail).store(n, release);
        const deadline d = simt::within(10'000'000'000);
        const system_word<std::uint32_t> own(registers[4 * k]);
        while (own.load(acquire) != n && !d.expired(simt::now_ns())) std::this_thread::yield();
        if (own.load(acquire) != n || entries[k] != 1000 * k + n) return;
        system_word<std::uint32_t>(bells[k].tail[bells[k].stride_bytes / 4]).store(n, release);
      }
    });
  }
  for (std::thread& t : lanes) t.join();
  for (std::uint32_t k = 0; k < queues; ++k) {
    await(registers[4 * k], 200);
    await(registers[4 * k + 2], 200);
    CHECK(registers[4 * k + 1] == 77);
  }
  CHECK(relay.passed() >= 200 * queues);
  CHECK(relay.passed() <= 400 * queues);
}

TEST_CASE("the same value is rung again in a queue's next life") {
  std::uint32_t registers[2] = {0, 0};
  host::doorbell_relay relay(1);
  const nvme_pcie_doorbells bells = relay.add(registers, 4);
  for (int life = 0; life < 3; ++life) {
    system_word<std::uint32_t>(registers[0]).store(0, release);
    system_word<std::uint32_t>(*bells.tail).store(1, release);
    await(registers[0], 1);
  }
}
