/// Hosts that connect to an NVMe over RDMA target and go away, at each step of a conversation.
#include "support/mutator.hpp"
#include "support/raw_queue.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/wire/fabrics/connect.hpp>
#include <gnstor/wire/fabrics/property.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <verbs/connect_error.hpp>

#include <command_line/command_line.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

namespace {

using namespace gnstor;
using namespace std::chrono_literals;
using interop::mutator;
using interop::raw_queue;

constexpr std::uint32_t data_bytes = 1 << 20;
constexpr std::uint32_t commands = 16;       // 64 KiB each
constexpr std::uint32_t killed_one_in = 10;  // hosts that are processes of their own
constexpr const char* steps[] = {"joined",          "connecting",    "connected",
                                 "with I/O joined", "I/O connected", "with I/O under way"};

template <class T>
std::span<const unsigned char> bytes_of(const T& value) {
  return {reinterpret_cast<const unsigned char*>(&value), sizeof value};
}

/// One host, as far as it comes.
class host_that_goes {
 public:
  host_that_goes(const host::verbs::net_address& target, std::string nqn)
      : target_(target),
        nqn_(std::move(nqn)),
        domain_(host::verbs::device::towards(target, 5s)),
        data_(host::place::host, data_bytes),
        region_(domain_, data_.data(), data_bytes, {.remote_read = true, .remote_write = true}) {}

  /// Goes so far, then away.
  void go(std::uint32_t step, const std::function<void()>& there) {
    raw_queue admin = join(0, 0xffff);
    if (step == 0) return there();
    ask_connect(admin, 0, 0xffff);
    if (step == 1) return there();
    const std::uint16_t controller = connected(admin);
    if (step == 2) return there();
    const auto enable = wire::fabrics::make_property_set(
        1, wire::fabrics::property_offset::configuration, 0x460001);
    (void)admin.send(bytes_of(enable));
    if (!admin.answer(5s)) throw host::error("the controller is not enabled");
    raw_queue io = join(1, controller);
    if (step == 3) return there();
    ask_connect(io, 1, controller);
    (void)connected(io);
    if (step == 4) return there();
    for (std::uint32_t k = 0; k < commands; ++k) {
      using wire::nvme::nvm_opcode;
      const std::uint32_t bytes = data_bytes / commands;
      const auto c = wire::nvme::make_read_write(
          k % 2 == 0 ? nvm_opcode::write : nvm_opcode::read, static_cast<std::uint16_t>(k + 1), 1,
          k * 16, bytes / 4096,
          wire::nvme::make_keyed_sgl(region_.buffer().address + k * bytes, bytes, region_.rkey()));
      if (!io.send(bytes_of(c))) throw host::error("the target has ended the queue");
    }
    there();
  }

 private:
  /// A target that is busy with those who have gone is asked again.
  raw_queue join(std::uint16_t queue, std::uint16_t controller) const {
    wire::fabrics::connection_request said{};
    said.qid = queue;
    said.hrqsize = 32;
    said.hsqsize = 31;
    said.cntlid = controller;
    for (int tries = 0;; ++tries) {
      try {
        return raw_queue(domain_, target_, bytes_of(said));
      } catch (const host::verbs::connect_error& e) {
        if (e.kind() != host::verbs::connect_failure::rejected || tries == 200) throw;
        std::this_thread::sleep_for(20ms);
      }
    }
  }
  void ask_connect(raw_queue& queue, std::uint16_t id, std::uint16_t controller) {
    wire::fabrics::connect_data data{};
    data.hostid[15] = 9;
    data.cntlid = controller;
    nqn_.copy(data.subnqn, sizeof data.subnqn - 1);
    std::strcpy(data.hostnqn, "nqn.2026-11.test:passing");
    std::memcpy(data_.data(), &data, sizeof data);
    const auto sgl =
        wire::nvme::make_keyed_sgl(region_.buffer().address, sizeof data, region_.rkey());
    (void)queue.send(bytes_of(wire::fabrics::make_connect(7, id, 32, sgl, 0)));
  }
  static std::uint16_t connected(raw_queue& queue) {
    const auto said = queue.answer(5s);
    if (!said || said->status >> 1 != 0) {
      throw host::error("Connect: " + (said ? "status " + std::to_string(said->status >> 1)
                                            : std::string("no answer")));
    }
    return wire::fabrics::connect_cntlid(said->dw0);
  }

  host::verbs::net_address target_;
  std::string nqn_;
  host::verbs::protection_domain domain_;
  host::memory_block data_;
  host::verbs::memory_region region_;
};

/// Has another process go so far, and kills it there: it says by a byte that it is.
void kill_one(const std::string& address, std::uint16_t port, const std::string& nqn,
              std::uint32_t step) {
  int ends[2];
  if (pipe(ends) != 0) throw host::error("no pipe");
  const pid_t child = fork();
  if (child == 0) {  // nothing of verbs is inherited: it becomes another program at once
    dup2(ends[1], 1);
    close(ends[0]);
    execl("/proc/self/exe", "interop_aborts", "--address", address.c_str(), "--port",
          std::to_string(port).c_str(), "--nqn", nqn.c_str(), "--stay",
          std::to_string(step).c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  char byte = 0;
  const bool there = read(ends[0], &byte, 1) == 1;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  if (!there) throw host::error("a host that was to be killed did not come so far");
}

}  // namespace

int main(int argc, char** argv) try {
  host::verbs::net_address target;
  std::string nqn;
  std::uint64_t seed = 1;
  std::uint64_t count = 1000;
  std::uint64_t stay = std::size(steps);
  std::uint64_t only = std::size(steps);
  tools::command_line line("Hosts that connect to an NVMe over RDMA target and go away");
  line.option("--address", target.host).required();
  line.option("--port", target.port).show_default();
  line.option("--nqn", nqn, "a volume's subsystem").required();
  line.option("--seed", seed, "of what they do").show_default();
  line.option("--count", count, "of hosts").show_default();
  line.option("--only", only, "the step at which all of them go: 0 to 5");
  line.option("--stay", stay, "come to that step alone, say so, and stay there");
  if (const auto code = line.parse(argc, argv)) return *code;

  if (stay < std::size(steps)) {
    host_that_goes(target, nqn).go(static_cast<std::uint32_t>(stay), [] {
      (void)!write(1, ".", 1);
      for (;;) pause();
    });
  }
  std::array<std::uint64_t, std::size(steps)> ended{};
  std::uint64_t killed = 0;
  host_that_goes mine(target, nqn);
  for (std::uint64_t k = 0; k < count; ++k) {
    mutator m(seed + k);
    const std::uint32_t drawn = m.below(std::size(steps));
    const auto step = only < std::size(steps) ? static_cast<std::uint32_t>(only) : drawn;
    try {
      if (m.one_in(killed_one_in)) {
        kill_one(target.host, target.port, nqn, step);
        ++killed;
      } else {
        mine.go(step, [] {});
      }
    } catch (const std::exception& e) {
      throw host::error("host " + std::to_string(k) + ", " + steps[step] + ": " + e.what());
    }
    ++ended[step];
  }
  for (std::size_t s = 0; s < std::size(steps); ++s)
    std::printf("%llu %s\n", static_cast<unsigned long long>(ended[s]), steps[s]);
  std::printf("%llu hosts have gone, %llu of them killed\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(killed));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "interop_aborts: %s\n", e.what());
  return 1;
}
