/// A controller whose queues are lent: sessions of several clients at once, what each may do, and
/// what is taken back when one ends.
// not under tsan: memory that is shared lies at two addresses, and their order is not seen there
#include "host/refusals.hpp"
#include "host/temp_folder.hpp"
#include "volume/session_rig.hpp"
#include <emulated/emulated_nvme.hpp>
#include <emulated/open_emulated.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <serve/homi/orchestrator.hpp>

#include <doctest/doctest.h>
#include <homi/homi_client.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

using namespace gnstor;
using namespace gnstor::test;
using namespace gnstor::host::homi;
using host::input_error;

namespace {

/// A daemon in a thread, with an emulated controller.
class lender {
 public:
  explicit lender(serve::orchestrator::options o = {},
                  const char* controller = "emu-nvme:?bytes=8M&queues=12") {
    socket = folder_.path("homi");
    o.socket = socket;
    const host::endpoint where = host::endpoint::parse(controller);
    auto device = std::make_unique<host::emulated_nvme>(
        *where.nvme, host::session_options{.client = host::machine::cpu, .channels = 64});
    device_ = device.get();
    all_ = std::make_unique<serve::orchestrator>(std::move(device), o);
    thread_ = std::thread([this] { all_->serve(); });
  }
  ~lender() { end(); }
  void end() {
    if (!all_) return;
    all_->stop();
    thread_.join();
    all_.reset();
  }
  std::string endpoint(const std::string& more = "") const { return "homi:" + socket + more; }
  host::emulated_nvme& device() const { return *device_; }
  /// Waits until as many clients have queues.
  bool has_clients(std::size_t count) const {
    for (int tries = 0; tries < 2000; ++tries) {
      if (homi_client::report(socket).size() == count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  std::string socket;

 private:
  temp_folder folder_;
  host::emulated_nvme* device_ = nullptr;
  std::unique_ptr<serve::orchestrator> all_;
  std::thread thread_;
};

/// Each lane writes its own blocks, reads them into other memory, and compares.
struct exchange {
  template <class Lane>
  void operator()(Lane& lane, remote_volume v, io_buffer memory, std::uint32_t first,
                  std::uint64_t seed, std::uint64_t* wrong) const {
    const std::uint32_t me = lane.global_thread();
    const io_buffer out = memory.slice(std::uint64_t{me} * 2 * block_bytes, block_bytes);
    const io_buffer in = memory.slice((std::uint64_t{me} * 2 + 1) * block_bytes, block_bytes);
    auto* const written = reinterpret_cast<std::uint64_t*>(out.address);
    auto* const read = reinterpret_cast<std::uint64_t*>(in.address);
    for (std::uint32_t turn = 0; turn < 20; ++turn) {
      for (std::uint32_t k = 0; k < block_bytes / 8; ++k) written[k] = seed * 1000 + turn * 7 + k;
      const vba where(first + me);
      const deadline d = simt::within(10'000'000'000);
      status s = v.write(where, 1, out, d);
      if (s.ok()) s = v.read(where, 1, in, d);
      std::uint64_t found = s.ok() ? 0 : 1;
      for (std::uint32_t k = 0; s.ok() && k < block_bytes / 8; ++k) found += read[k] != written[k];
      if (found != 0) device_word<std::uint64_t>(*wrong).fetch_add(found, relaxed);
    }
  }
};

std::uint64_t exchange_by(host::session& s, std::uint32_t first, std::uint64_t seed) {
  const volume_info v = s.open_volume(volume_id(1));
  host::registered_memory memory(s, 64 * 2 * block_bytes);
  std::uint64_t wrong = 0;
  run(s, 2, 32, exchange{}, s.ref(v), memory.buffer(), first, seed, &wrong);
  return wrong;
}

/// A message as a stranger sends it, and the answer.
std::optional<message> say(const std::string& socket, const std::string& text, int file = -1) {
  const message_socket s = message_socket::connect(socket);
  if (!s.send(text, file)) return {};
  return s.receive(2000);
}

}  // namespace

TEST_CASE("several processes' kernels use one controller at once, each with queues of its own") {
  lender d;
  std::atomic<std::uint64_t> wrong = 0;
  std::vector<std::thread> clients;
  for (std::uint32_t k = 0; k < 4; ++k) {
    clients.emplace_back([&, k] {
      host::session s(d.endpoint(), {.channels = 2, .depth = 32});
      if (s.channels().size() != 2) ++wrong;
      for (int turn = 0; turn < 3; ++turn) wrong += exchange_by(s, k * 64, k);
      s.reset_channel(1);
      wrong += exchange_by(s, k * 64, k + 10);
    });
  }
  for (std::thread& t : clients) t.join();
  CHECK(wrong == 0);
  CHECK(d.has_clients(0));
  CHECK(d.device().faults() == 0);
}

TEST_CASE("what is asked for beyond the quotas is refused, and other clients go on") {
  lender d({.queues = 3, .bytes = 4 << 20, .pieces = 4, .clients = 2});
  host::session first(d.endpoint(), {.channels = 8});
  CHECK(first.channels().size() == 2);  // and one of this CPU's
  bool said = false;
  for (const std::string& note : first.notes())
    said = said || note.find("2 channels of 8") != std::string::npos;
  CHECK(said);
  CHECK(says(refusal_of<input_error>([&] { (void)first.allocate(8 << 20); }), "(--memory)"));
  CHECK(says(refusal_of<input_error>([&] {
               std::vector<host::memory_block> all;
               for (int k = 0; k < 8; ++k) all.push_back(first.allocate(4096));
             }),
             "(--pieces)"));
  std::vector<char> own(8192);
  CHECK(says(refusal_of<input_error>([&] { (void)first.register_memory(own.data(), own.size()); }),
             "session::allocate"));
  host::session second(d.endpoint(), {.channels = 1, .depth = 32});
  CHECK(says(refusal_of<input_error>([&] { host::session third(d.endpoint()); }), "(--clients)"));
  CHECK(exchange_by(second, 0, 1) == 0);
  CHECK(says(refusal_of<input_error>([&] { host::session none("homi:/nowhere/homi"); }),
             "start gnstor-homid"));
  CHECK(says(refusal_of<input_error>([&] {
               const host::session_options here{.client = host::machine::cpu};
               serve::orchestrator other(host::open_emulated_nvme({}, here), {.socket = d.socket});
             }),
             "another gnstor-homid serves it"));
}

TEST_CASE("queues that are lent out are all there is, and come back") {
  lender d({.queues = 8});  // of 12
  {
    host::session first(d.endpoint(), {.channels = 7, .depth = 16});
    host::session second(d.endpoint(), {.channels = 7, .depth = 16});
    CHECK(second.channels().size() == 3);
    CHECK(says(refusal_of<input_error>([&] { host::session third(d.endpoint()); }), "are lent"));
  }
  REQUIRE(d.has_clients(0));
  for (int k = 0; k < 20; ++k) {
    host::session again(d.endpoint(), {.channels = 7, .depth = 16});
    CHECK(again.channels().size() == 7);
    if (k % 5 == 0) CHECK(exchange_by(again, 0, 3) == 0);
  }
}

TEST_CASE("a daemon that ends leaves its clients with deadlines and words") {
  lender d;
  host::session s(d.endpoint(), {.channels = 1, .depth = 16, .timeout = std::chrono::seconds(1)});
  CHECK(exchange_by(s, 0, 1) == 0);
  d.end();
  CHECK(says(refusal_of<host::error>([&] { (void)s.allocate(4096); }), "gnstor-homid"));
  CHECK_THROWS_AS(s.reset_channel(0, std::chrono::milliseconds(200)), host::error);
}

TEST_CASE("messages that are none, or ask for what is somebody else's, harm nobody") {
  lender d;
  host::session s(d.endpoint(), {.channels = 1, .depth = 16});
  for (const std::string& text :
       {std::string("x"), std::string(70, 'x'), std::string(sizeof(request), '\0'),
        std::string(sizeof(request), '\xff'), std::string(60'000, 'y')}) {
    const std::optional<message> m = say(d.socket, text);
    reply said;
    std::size_t at = 0;
    REQUIRE((m && take(m->text, at, said)));
    CHECK(said.how == outcome::refused);
  }
  // Without queues of its own nobody shares, creates or deletes.
  for (const verb v : {verb::share, verb::unshare, verb::create, verb::remove}) {
    request r;
    r.what = v;
    r.a = 1;
    std::string text;
    append(text, r);
    const std::optional<message> m = say(d.socket, text);
    reply said;
    std::size_t at = 0;
    REQUIRE((m && take(m->text, at, said)));
    CHECK(says(text_of(said.text), "open comes first"));
  }
  homi_client other(d.socket, 1, std::chrono::seconds(2));
  const std::uint16_t own = other.granted().queues[0];
  const auto refusal = [](const auto& action) { return refusal_of<input_error>(action); };
  const host::shared_memory memory(1 << 20);
  std::uint64_t id = 0;
  const std::uint64_t dma = other.share(memory, id);
  for (std::uint16_t queue = 0; queue < 20; ++queue) {
    if (queue == own) continue;
    CHECK(
        says(refusal([&] { other.create(queue, 16, dma, dma + 4096, 0); }), "not this process's"));
    CHECK(says(refusal([&] { other.remove(queue); }), "there is no queue"));
  }
  for (const auto& [submissions, completions] : {std::pair{dma + 64, dma + 4096},
                                                 {dma, dma + (1 << 20)},
                                                 {dma + (1 << 20) - 4096, dma},
                                                 {std::uint64_t{0}, dma},
                                                 {~std::uint64_t{0} / 4096 * 4096, dma}})
    CHECK(says(refusal([&] { other.create(own, 128, submissions, completions, 0); }),
               "memory is no whole pages"));
  CHECK(says(refusal([&] { other.create(own, 1, dma, dma + 4096, 0); }), "entries"));
  CHECK(says(refusal([&] { other.create(own, 1u << 20, dma, dma + 4096, 0); }), "entries"));
  other.create(own, 64, dma, dma + 8192, 0);
  CHECK(says(refusal([&] { other.create(own, 64, dma, dma + 8192, 0); }), "already"));
  // Memory of a queue stays until that is deleted; what is not sealed is not taken.
  other.remove(own);
  other.unshare(id);
  const host::file_descriptor plain(::memfd_create("plain", 0));
  REQUIRE(::ftruncate(plain.get(), 8192) == 0);
  CHECK_THROWS_AS(
      (void)host::shared_memory::received(host::file_descriptor(::dup(plain.get())), 8192),
      input_error);
  CHECK(exchange_by(s, 0, 5) == 0);
  CHECK(d.device().faults() == 0);
}

TEST_CASE("memory that a queue lies in stays until the queue is deleted") {
  lender d;
  const message_socket s = message_socket::connect(d.socket);
  const auto ask = [&](request r, int file = -1) {
    std::string text;
    append(text, r);
    REQUIRE(s.send(text, file));
    const std::optional<message> m = s.receive(2000);
    reply said;
    std::size_t at = 0;
    REQUIRE((m && take(m->text, at, said)));
    return said;
  };
  request r;
  r.what = verb::open;
  r.a = 1;
  REQUIRE(ask(r).how == outcome::done);
  const host::shared_memory memory(64 << 10);
  r.what = verb::share;
  r.a = memory.bytes();
  CHECK(ask(r).how == outcome::refused);  // without the file
  const reply shared = ask(r, memory.file());
  REQUIRE(shared.how == outcome::done);
  r.what = verb::create;
  r.a = 1;
  r.b = 64;
  r.c = shared.a;
  r.d = shared.a + 8192;
  REQUIRE(ask(r).how == outcome::done);
  request give_up;
  give_up.what = verb::unshare;
  give_up.a = shared.b;
  CHECK(says(text_of(ask(give_up).text), "delete it first"));
  r.what = verb::remove;
  CHECK(ask(r).how == outcome::done);
  CHECK(ask(give_up).how == outcome::done);
  CHECK(says(text_of(ask(give_up).text), "no such piece"));
  CHECK(d.has_clients(1));
}

TEST_CASE("a client that vanishes with commands under way leaves no command and no memory behind") {
  lender d({}, "emu-nvme:?bytes=8M&queues=12&mdts=1M");
  host::session neighbour(d.endpoint(), {.channels = 1, .depth = 32});
  for (int k = 0; k < 50; ++k) {
    host::shared_memory memory(8 << 20);
    {
      homi_client gone(d.socket, 2, std::chrono::seconds(2));
      std::uint64_t id = 0;
      const std::uint64_t dma = gone.share(memory, id);
      const std::uint16_t queue = gone.granted().queues[0];
      gone.create(queue, 64, dma, dma + 4096, 0);
      // Reads of 1 MiB by lists, all at once; nobody waits for them.
      auto* const lists = reinterpret_cast<std::uint64_t*>(memory.data() + (64 << 10));
      for (std::uint64_t n = 0; n < 255; ++n) lists[n] = dma + (1 << 20) + (n + 1) * 4096;
      for (std::uint16_t n = 0; n < 40; ++n) {
        wire::nvme::submission_entry e =
            wire::nvme::make_read_write(wire::nvme::nvm_opcode::read, n, 1, 0, 256, {});
        wire::nvme::set_prp(e, {dma + (1 << 20), dma + (64 << 10)});
        std::memcpy(memory.data() + n * sizeof e, &e, sizeof e);
      }
      const opened& g = gone.granted();
      auto* const tail = reinterpret_cast<std::uint32_t*>(
          gone.doorbells().data() + g.doorbell_first + 2ull * queue * g.doorbell_stride);
      system_word<std::uint32_t>(*tail).store(40, release);
      if (k % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50 * k));
    }
    // From then on it is somebody else's, and keeps what they put there.
    REQUIRE(d.has_clients(1));
    std::memset(memory.data(), 0x5a, 8 << 20);
    if (k % 10 == 0) CHECK(exchange_by(neighbour, 0, static_cast<std::uint64_t>(k)) == 0);
    const auto* const bytes = static_cast<const unsigned char*>(memory.data());
    CHECK(std::all_of(bytes, bytes + (8 << 20), [](unsigned char b) { return b == 0x5a; }));
  }
  CHECK(d.has_clients(1));
  CHECK(d.device().faults() == 0);
  CHECK(exchange_by(neighbour, 0, 99) == 0);
}
