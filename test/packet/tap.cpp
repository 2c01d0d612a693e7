/// A NIC with Linux on its wire, in a network namespace of the test's own.

#include "under_tsan.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/file_descriptor.hpp>
#include <gnstor/host/packet_flow.hpp>
#include <gnstor/packet/answering_host.hpp>
#include <gnstor/simt_host/executor.hpp>

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <linux/capability.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

using namespace gnstor;

namespace {

constexpr answering_host us{{{0x02, 0x47, 0x4e, 0x53, 0x00, 0x01}}, 0x0a400002};
constexpr host::packet_flow_options small = {
    .receive_port = 0, .send_port = 0, .depth = 16, .turn = 4, .buffers = 64};

/// Runs `work` on a thread in a namespace without interfaces; false if there may be none, or no
/// tap.
template <class Work>
bool in_namespace(const Work& work) {
  bool is_in = false;
  std::exception_ptr failure;
  std::thread([&] {
    is_in = ::access("/dev/net/tun", R_OK | W_OK) == 0 && ::unshare(CLONE_NEWNET) == 0;
    try {
      if (is_in) work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  if (!is_in) MESSAGE("no tap, or no network namespace, may be made here: not tested");
  return is_in;
}

void must(bool done, const char* what) {
  if (!done) throw host::error(std::string(what) + ": " + std::strerror(errno));
}

/// Gives an interface 10.64.0.1/24 and sets it up.
void set_up(const char* name) {
  const host::file_descriptor any(::socket(AF_INET, SOCK_DGRAM, 0));
  ifreq r{};
  std::strncpy(r.ifr_name, name, IFNAMSIZ - 1);
  const auto address = [&r](const char* text) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    ::inet_pton(AF_INET, text, &a.sin_addr);
    std::memcpy(&r.ifr_addr, &a, sizeof a);
  };
  address("10.64.0.1");
  must(::ioctl(any.get(), SIOCSIFADDR, &r) == 0, "setting an address");
  address("255.255.255.0");
  must(::ioctl(any.get(), SIOCSIFNETMASK, &r) == 0, "setting a mask");
  r.ifr_flags = IFF_UP;
  must(::ioctl(any.get(), SIOCSIFFLAGS, &r) == 0, "setting an interface up");
}

/// Sends datagrams of growing sizes to the echo port, beyond the MTU at the end; how many of those
/// within it came back as they went.
int echoed(int count) {
  const host::file_descriptor client(::socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(7);
  ::inet_pton(AF_INET, "10.64.0.2", &to.sin_addr);
  must(::connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0, "connecting");
  int right = 0;
  for (int k = 0; k < count; ++k) {
    std::vector<unsigned char> sent(static_cast<std::size_t>(1 + k * 1471 / (count - 1)));
    for (std::size_t b = 0; b < sent.size(); ++b)
      sent[b] = static_cast<unsigned char>(b * 7 + static_cast<std::size_t>(k));
    must(::send(client.get(), sent.data(), sent.size(), 0) > 0, "sending");
    pollfd wait{client.get(), POLLIN, 0};
    if (::poll(&wait, 1, 10'000) != 1) return right;
    std::vector<unsigned char> back(2048);
    const ssize_t n = ::recv(client.get(), back.data(), back.size(), 0);
    back.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    if (back == sent) ++right;
  }
  const std::vector<unsigned char> fragments(3000);
  must(::send(client.get(), fragments.data(), fragments.size(), 0) > 0, "sending fragments");
  return right;
}

std::string problem_of(const char* endpoint, const host::packet_flow_options& o = small) {
  try {
    host::nic nic(endpoint);
    host::packet_flow flow(nic, o);
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

void talk_to_linux(const std::string& model) {
  host::nic nic("tap:packets0?model=" + model);
  set_up("packets0");
  host::packet_flow flow(nic, small);
  simt::host::executor machine;
  flow.spawn(machine, us);
  nic.attach(machine);
  int right = 0;
  std::thread client([&] {
    right = echoed(100);
    for (until wait{simt::within(std::uint64_t{5'000'000'000})}; wait;) {
      if (flow.count(packet_cause::unsupported) >= 3) break;
    }
    flow.stop();
  });
  machine.run();
  client.join();
  nic.check();
  CHECK(right == 100);
  // At least ARP's question, and 100 datagrams.
  CHECK(flow.count(packet_cause::sent) >= 101);
  CHECK(flow.count(packet_cause::unsupported) >= 3);
  CHECK(flow.count(packet_cause::malformed) + flow.count(packet_cause::wrong_checksum) == 0);
  CHECK(nic.statistics(0).delivered == flow.count(packet_cause::received));
  CHECK(nic.statistics(0).sent == flow.count(packet_cause::sent));
  CHECK(nic.statistics(0).refused == 0);
}

}  // namespace

TEST_CASE("Linux's ARP and UDP talk to kernels through a tap") {
  in_namespace([] {
    for (const char* model : {"82599", "82574"}) {
      CAPTURE(model);
      talk_to_linux(model);
    }
  });
}

TEST_CASE("a tap that is down, taken, or too wide says so") {
  in_namespace([] {
    host::nic nic("tap:packets1");
    CHECK(nic.notes().at(1).find("packets1, which is down: ip addr add") != std::string::npos);
    CHECK(problem_of("tap:packets1").find("another process has it") != std::string::npos);
    CHECK(problem_of("tap:lo").find("is no tap of one queue") != std::string::npos);
    set_up("packets1");
    CHECK(nic.notes().at(1) == "port 0 is the wire of Linux's interface packets1");
    CHECK(problem_of("tap:packets2,packets3") == "");
  });
}

TEST_CASE("who may make no interface hears what that takes") {
  in_namespace([] {
    // Of this thread alone.
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[2]{};
    must(::syscall(SYS_capset, &head, none) == 0, "giving all capabilities up");
    const std::string said = problem_of("tap:packets4");
    CHECK(said.find("Operation not permitted: this needs CAP_NET_ADMIN") != std::string::npos);
    CHECK(said.find("ip tuntap add dev packets4 mode tap user $USER") != std::string::npos);
  });
}

TEST_CASE("a tap endpoint that says nonsense is answered by what exists") {
  const auto says = [](const char* endpoint, const char* what) {
    return problem_of(endpoint).find(what) != std::string::npos;
  };
  for (const char* name : {"tap:", "tap:?depth=16", "tap:a/b", "tap:sixteen-letters-", "tap:a,a",
                           "tap:a,b,c,d,e,f,g,h,i", "tap:a b"}) {
    CAPTURE(name);
    CHECK(says(name, "expected tap:NAME, an interface of Linux"));
  }
  CHECK(says("tap:a?model=82540", "expected 82599|82574"));
  CHECK(says("tap:a?frames=3", "these exist: model, depth"));
}
