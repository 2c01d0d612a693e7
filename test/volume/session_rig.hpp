#pragma once
/// What tests of whole sessions share.

#include <gnstor/host/executor.hpp>
#include <gnstor/host/session.hpp>

#include "host/random_bytes.hpp"

#include <vector>

namespace gnstor::test {

/// The emulated array in each of its ways to run on a CPU.
inline constexpr const char* array_runners[] = {"emu:?capacity=16M&runner=cpu",
                                                "emu:?capacity=16M&runner=cpu&transport=proxy",
                                                "emu:?capacity=16M&runner=sim&lanes=4"};
/// The same, and a local controller, or several, which have no replicas.
inline constexpr const char* runners[] = {
    array_runners[0],
    array_runners[1],
    array_runners[2],
    "emu-nvme:?bytes=16M&namespaces=4",
    "emu-nvme:?bytes=16M&namespaces=4&lba=512&runner=sim&workers=2&lanes=4",
    "emu-nvme:?bytes=8M&namespaces=4&controllers=3&stripe=16K&runner=sim&lanes=4"};

/// Memory of a session's kernels, registered.
struct registered {
  registered(gnstor::host::session& s, std::size_t bytes)
      : session(s),
        memory(s.client_place(), bytes),
        buffer(s.register_memory(memory.data(), bytes)) {}
  registered(const registered&) = delete;
  registered& operator=(const registered&) = delete;
  ~registered() { session.unregister_memory(buffer); }
  unsigned char* bytes() const { return static_cast<unsigned char*>(memory.data()); }

  gnstor::host::session& session;
  gnstor::host::memory_block memory;
  io_buffer buffer;
};

/// Runs a kernel beside what the session needs.
template <class Kernel, class... Args>
void run(gnstor::host::session& s, std::uint32_t grid, std::uint32_t block, Kernel kernel,
         Args... args) {
  gnstor::host::executor machine;
  machine.spawn(grid, block, kernel, args...);
  s.attach(machine);
  machine.run();
}

}  // namespace gnstor::test
