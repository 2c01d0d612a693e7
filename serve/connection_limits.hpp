#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gnstor::serve {

/// What a connection's other end has shown of itself.
enum class standing : std::uint8_t {
  stranger,  ///< no Connect has succeeded on it
  guest,     ///< an admin queue of the discovery subsystem, which is open to everybody
  member,    ///< a queue of another subsystem
};

/// A connection as the limits see it.
struct known_connection {
  std::string peer;  ///< address
  std::uint16_t qid = 0;
  standing is = standing::stranger;
};

/// How many connections a target serves at once, in all and of one host.
///
/// A host joins by an admin queue; all that one may have before is a few connections with little
/// memory. Its I/O queues it may join all at once, as Linux does, before the first Connect of them.
struct connection_limits {
  std::uint32_t all = 128;
  std::uint32_t of_host = 96;            ///< so that one host leaves room for another
  std::uint32_t strangers = 16;          ///< admin queues before their Connect
  std::uint32_t strangers_of_host = 8;   ///< likewise
  std::uint32_t io_queues = 16;          ///< of one association
  std::size_t memory_bytes = 256 << 20;  ///< of all together, as `staging_bytes` shares it out

  /// Why another connection of `peer`, for queue `qid`, is refused; null: it may come.
  const char* refusal(std::span<const known_connection> there, std::string_view peer,
                      std::uint16_t qid) const;

  /// Memory for data of one that comes, so that as many as may still come find some, too.
  struct memory {
    std::size_t capsules = 0;  ///< of each connection, beside its data, at most
    std::size_t least = 0;     ///< for data: without it a connection cannot work
    std::size_t wanted = 0;    ///< for data
  };
  /// @param connections there are, which have `taken` bytes
  /// @par Result 0: there is not enough for one more
  std::size_t staging_bytes(std::size_t connections, std::size_t taken, const memory& m) const;
};

}  // namespace gnstor::serve
