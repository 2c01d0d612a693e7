/// Memory that registers itself with a session, and is given back in order.
#include "scripted_link.hpp"
#include "session_impl.hpp"
#include <gnstor/host/error.hpp>
#include <gnstor/host/executor.hpp>
#include <gnstor/host/registered_memory.hpp>
#include <gnstor/host/session.hpp>
#include <gnstor/simt/lane.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace gnstor;
using namespace gnstor::test;
using host::registered_memory;

namespace {

static_assert(!std::is_copy_constructible_v<registered_memory>);
static_assert(std::is_nothrow_move_constructible_v<registered_memory>);
static_assert(std::is_nothrow_move_assignable_v<registered_memory>);

/// Writes down what is asked of it, "+1" and "-1" for key 1, "free" for memory given back.
class logging_link final : public scripted_link {
 public:
  explicit logging_link(std::vector<std::string>& log) : log_(&log) { said = array_of(1); }
  host::memory_block allocate(host::place where, std::size_t bytes) override {
    if (!listening) return scripted_link::allocate(where, bytes);
    auto kept = std::make_shared<host::memory_block>(where, bytes);
    void* data = kept->data();
    return {where, data, kept->bytes(), 0, [kept, log = log_](void*) { log->push_back("free"); }};
  }
  io_buffer register_memory(void* address, std::uint64_t bytes) override {
    if (full) throw host::error("no room for another memory region");
    const io_buffer made = scripted_link::register_memory(address, bytes);
    if (listening) log_->push_back("+" + std::to_string(made.rkey));
    return made;
  }
  void unregister_memory(const io_buffer& b) noexcept override {
    if (listening) log_->push_back("-" + std::to_string(b.rkey));
  }
  bool listening = false;
  bool full = false;

 private:
  std::vector<std::string>* log_;
};

/// A session over a link that writes down what is asked of it, from now on.
struct logged_session {
  logged_session() {
    auto made = std::make_unique<logging_link>(log);
    link = made.get();
    inside = std::make_unique<host::session>(
        host::session_access::over(host::endpoint::parse("emu:"), {}, std::move(made)));
    link->last_key = 0;
    link->listening = true;
  }
  ~logged_session() { link->listening = false; }
  logged_session(const logged_session&) = delete;
  logged_session& operator=(const logged_session&) = delete;

  using words = std::vector<std::string>;
  words log;
  logging_link* link = nullptr;
  std::unique_ptr<host::session> inside;
};

/// Lane k reads block k of the volume into its block of `memory`, and adds 1 to every word.
struct read_and_count_up {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, remote_volume volume, io_buffer memory,
                            std::uint64_t* outcomes) const {
    const std::uint32_t me = lane.global_thread();
    const io_buffer mine = memory.slice(std::uint64_t{me} * block_bytes, block_bytes);
    const status s = volume.read(vba(me), 1, mine, simt::within(20'000'000'000));
    auto* words = static_cast<std::uint32_t*>(mine.data());
    for (std::uint32_t k = 0; s.ok() && k < block_bytes / 4; ++k) ++words[k];
    outcomes[me] = s.pack();
  }
};

}  // namespace

TEST_CASE("registered memory is unregistered, and only then freed") {
  logged_session s;
  {
    const registered_memory memory(*s.inside, 5000);
    CHECK(memory.bytes() == 5000);
    CHECK(memory.buffer().bytes == 5000);
    CHECK(memory.buffer().data() == memory.data());
    CHECK(memory.buffer().rkey == 1);
    CHECK(s.log == logged_session::words{"+1"});
  }
  CHECK(s.log == logged_session::words{"+1", "-1", "free"});
}

TEST_CASE("memory that cannot be registered is freed") {
  logged_session s;
  s.link->full = true;
  CHECK_THROWS_AS(registered_memory(*s.inside, 5000), host::error);
  CHECK(s.log == logged_session::words{"free"});
  CHECK_THROWS_AS(registered_memory(*s.inside, 0), host::input_error);
}

TEST_CASE("registered memory that is moved is given back once, what it replaces at once") {
  logged_session s;
  {
    registered_memory first(*s.inside, 4096);
    const void* address = first.data();
    registered_memory second(std::move(first));
    CHECK(second.data() == address);
    CHECK(first.data() == nullptr);  // NOLINT(bugprone-use-after-move): what it promises
    CHECK(first.buffer() == io_buffer{});
    CHECK(s.log == logged_session::words{"+1"});
    first = registered_memory(*s.inside, 4096);
    first = std::move(second);
    CHECK(s.log == logged_session::words{"+1", "+2", "-2", "free"});
    CHECK(first.data() == address);
    registered_memory& same = first;
    first = std::move(same);
    CHECK(first.data() == address);
    first = {};
    CHECK(s.log == logged_session::words{"+1", "+2", "-2", "free", "-1", "free"});
  }
  CHECK(s.log.size() == 6);
}

TEST_CASE("a session may be moved while its registered memory lives") {
  logged_session s;
  {
    const registered_memory memory(*s.inside, 4096);
    auto elsewhere = std::make_unique<host::session>(std::move(*s.inside));
    s.inside = std::move(elsewhere);
  }
  CHECK(s.log == logged_session::words{"+1", "-1", "free"});
}

TEST_CASE("kernels read into registered memory, and this CPU reads and writes it") {
  constexpr std::uint32_t lanes = 40;
  for (const char* endpoint :
       {"emu:?capacity=16M&runner=cpu", "emu:?capacity=16M&runner=cpu&transport=proxy",
        "emu:?capacity=16M&runner=sim"}) {
    CAPTURE(endpoint);
    host::session s(endpoint);
    const volume_info v = s.create_volume({.bytes = lanes * block_bytes});
    std::vector<std::uint32_t> words(lanes * block_bytes / 4);
    std::iota(words.begin(), words.end(), 7u);
    s.write(v, 0, words.data(), lanes * block_bytes);

    const registered_memory memory(s, lanes * block_bytes);
    const host::memory_block outcomes(s.client_place(), lanes * 8, s.options().device);
    host::executor kernels;
    kernels.spawn(2, lanes / 2, read_and_count_up{}, s.ref(v), memory.buffer(),
                  static_cast<std::uint64_t*>(outcomes.data()));
    s.attach(kernels);
    kernels.run();

    std::vector<std::uint64_t> packed(lanes, 1);
    outcomes.read(0, packed.data(), lanes * 8);
    for (const std::uint64_t p : packed) REQUIRE(status::unpack(p) == status{});
    std::vector<std::uint32_t> found(words.size());
    memory.read(0, found.data(), memory.bytes());
    for (std::uint32_t k = 0; k < words.size(); ++k) REQUIRE(found[k] == words[k] + 1);
    CHECK(memory.as<std::uint32_t>()[3] == words[3] + 1);
    memory.write(8, words.data(), 4);
    memory.read(8, found.data(), 4);
    CHECK(found[0] == words[0]);
  }
}
