#pragma once
/// A request table in memory of its own.

#include <gnstor/channel/request_table.hpp>

#include <vector>

namespace gnstor::test {

using device_table = detail::request_table<thread_scope_device>;

struct table_in_memory {
  explicit table_in_memory(std::uint32_t slots)
      : words(device_table::bytes(slots) / 8 + 8),
        table(reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(words.data()) + 31) / 32 *
                                      32),
              slots) {}
  std::vector<std::uint64_t> words;
  device_table table;
};

}  // namespace gnstor::test
