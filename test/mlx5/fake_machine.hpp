#pragma once

#include <gnstor/host/error.hpp>
#include <mlx5/memory_home.hpp>

#include <infiniband/mlx5dv.h>
#include <rdma/rdma_cma.h>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gnstor::test {

/// A ConnectX, a network and a GPU that consist of their interfaces alone: this test binary defines
/// the functions of libibverbs, libmlx5 and librdmacm that set up queues, and each of them only
/// keeps the record here. There is one, as there is one of each function. A controller's thread may
/// end queues beside the test's.
struct fake_machine {
  /// A device command as it came: the bytes of its mailbox.
  struct command {
    std::vector<unsigned char> bytes;

    /// The big-endian word at byte `at`, which is how the PRM's tables count.
    std::uint32_t word(std::size_t at) const;
    std::uint64_t wide(std::size_t at) const {
      return std::uint64_t{word(at)} << 32 | word(at + 4);
    }
    std::uint32_t opcode() const { return word(0) >> 16; }
  };
  /// Registered memory: of a memory region or of a umem.
  struct registration {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t key = 0;  ///< lkey, or the umem's id
    bool dmabuf = false;
    int access = 0;
  };
  /// What an event of the connection manager says.
  struct event {
    rdma_cm_event_type type{};
    int status = 0;
    std::vector<unsigned char> data;
  };

  static fake_machine& get();
  /// All as new. What the last test left alive is forgotten.
  void reset();

  /// Every function that makes or changes something says its name here first; true: it must fail.
  bool must_fail(const std::string& name);
  void made(const std::string& kind);
  void freed(const std::string& kind);
  /// Kinds of things made and not freed, with their number.
  std::string left_over() const;
  /// The last command with this opcode, and how many there were.
  const command& last(std::uint32_t opcode) const;
  std::size_t count(std::uint32_t opcode) const;
  /// How often a function was called.
  std::size_t count(const std::string& call) const;
  const registration& umem(std::uint32_t id) const;
  /// Tells the connection manager's next event, to the connection made last.
  void tell(event e);

  std::vector<std::string> calls;    ///< in order
  int fail_at = -1;                  ///< index of the call that fails
  std::set<std::string> fail_named;  ///< calls of these names fail, all of them
  int error_number = 5;
  std::map<std::string, int> alive;
  std::vector<command> commands;
  std::uint32_t queue_number = 0xbeee;  ///< of the queue pair made last; the next has the next
  std::vector<registration> regions;
  std::vector<registration> umems;
  std::vector<unsigned char> general;  ///< the general capabilities, 4096 bytes
  std::vector<unsigned char> roce;
  std::pair<std::uint32_t, std::uint32_t> refusal{0,
                                                  0};  ///< status and syndrome of a failed command
  event answer;                                        ///< to rdma_connect
  bool silent = false;                                 ///< no event follows a call
  ibv_gid_type gid_type = IBV_GID_TYPE_ROCE_V2;
  bool global = true;       ///< routes have a GID
  rdma_conn_param asked{};  ///< what rdma_connect was given
  std::vector<unsigned char> private_data;
  std::map<int, std::uint64_t> dmabufs;  ///< addresses by file descriptor
  std::vector<std::uint32_t> uar_kinds;  ///< asked for
  std::uint32_t uar_refused = 0;         ///< how many kinds are refused
  std::deque<event> events;
  ibv_device device{};
  ibv_context context{};
  ibv_context other_context{};
  bool another_way = false;  ///< the peer is reached through another device
  int event_fd = -1;
  alignas(64) std::uint64_t doorbell[8]{};
};

/// Memory of a GPU that is not there: host memory whose dma-bufs and mappings the fake keeps.
std::shared_ptr<gnstor::host::mlx5::memory_home> fake_gpu();

}  // namespace gnstor::test
