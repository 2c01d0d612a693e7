/// Memory that a block takes over from somebody else.
#include <gnstor/host/memory_block.hpp>
#include <gnstor/host/session.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

using namespace gnstor;
using host::memory_block;

namespace {

/// A block of memory whose return to its owner is counted.
memory_block lent(std::vector<void*>& returned) {
  constexpr std::size_t bytes = 8192;
  void* memory = std::aligned_alloc(4096, bytes);
  return memory_block(host::place::host, memory, bytes, 0, [&returned](void* p) {
    returned.push_back(p);
    std::free(p);
  });
}

}  // namespace

TEST_CASE("memory taken over is given back once, to its owner") {
  std::vector<void*> returned;
  void* memory = nullptr;
  {
    memory_block first = lent(returned);
    memory = first.data();
    CHECK(first.bytes() == 8192);
    memory_block second = std::move(first);
    CHECK(first.data() == nullptr);
    CHECK(second.data() == memory);
    const char out[] = "through the block";
    char in[sizeof out] = {};
    second.write(100, out, sizeof out);
    second.read(100, in, sizeof in);
    CHECK(std::string(in) == out);
    CHECK(returned.empty());
  }
  CHECK(returned == std::vector<void*>{memory});
}

TEST_CASE("a block that takes another one gives its own memory back first") {
  std::vector<void*> returned;
  memory_block block = lent(returned);
  void* first = block.data();
  block = memory_block(host::place::host, 4096);
  CHECK(returned == std::vector<void*>{first});
  block = lent(returned);
  block = memory_block();
  CHECK(returned.size() == 2);
}

TEST_CASE("memory from a session can be registered and reached by its kernels") {
  host::session s("emu:?ssds=1&replicas=1&capacity=16M", {.channels = 1});
  const memory_block memory = s.allocate(5000);
  CHECK(memory.bytes() >= 5000);
  CHECK(memory.where() == s.client_place());
  const io_buffer buffer = s.register_memory(memory.data(), memory.bytes());
  CHECK(buffer.address == reinterpret_cast<std::uint64_t>(memory.data()));
  s.unregister_memory(buffer);
}
