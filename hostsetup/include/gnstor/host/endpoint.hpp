#pragma once

#include <gnstor/host/control_endpoint.hpp>
#include <gnstor/host/disk_endpoint.hpp>
#include <gnstor/host/homi_endpoint.hpp>
#include <gnstor/host/nvme_endpoint.hpp>
#include <gnstor/host/pcie_endpoint.hpp>
#include <gnstor/host/rdma_endpoint.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gnstor::host {

/// Who runs the emulated array's firmware.
enum class runner_kind {
  automatic,  ///< the GPU where kernels run on a GPU, else CPU threads
  cpu,        ///< CPU threads
  gpu,        ///< a persistent kernel
  simulated,  ///< lanes of the client's own host executor: one thread; virtual time and replayable
              ///< where the executor is seeded, else wall-clock time
};

/// Where the emulated array keeps its flash pages when the GPU runs it.
enum class media_kind {
  host,  ///< in host memory: in the files of `flash`, which must lie on tmpfs, or pinned
  hbm,   ///< in GPU memory: files of `flash` are read at the beginning and written at the end
};

/// How long the emulated SSDs take.
enum class timing_kind {
  off,     ///< as long as the emulation does
  table2,  ///< at least as long as the SSD of GNStor's Table 2: 3250/2980 MiB/s of 4 KiB reads and
           ///< writes, 6988/4950 MiB/s of 64 KiB, 276 ns for hash and access check; a lone 4 KiB
           ///< read has 55 or 67 us, 26 where the row of cells was sensed last
  table2_unchecked,  ///< the same without these 276 ns, to see what they cost in virtual time
  gmblock,  ///< the disks, bus and wire of gmblock: 388 MiB/s out of flash, 462 on the wire
};

/// How the emulated NIC gets a read's data from flash to the wire, with `timing`.
enum class send_kind {
  direct,        ///< from flash into the client's memory
  staged,        ///< flash to host memory, host memory to the NIC's, then out
  stored,        ///< flash to the NIC's memory, and out when all of it is there
  synchronised,  ///< out of the NIC's memory chunk by chunk, as soon as a chunk is complete
};

/// Where a sending NIC's data comes from.
enum class source_kind {
  flash,  ///< at a constant rate, the lowest bytes first
  disks,  ///< eight disks at once: the first 64 KiB of a request come from one of them
  none,   ///< it is there at once
};

/// A parsed endpoint string.
///
/// `emu:?name=value&...` is an array emulated inside this process; its options are the members
/// below. `emu-nvme:?...` is a local NVMe controller, emulated likewise: `nvme_endpoint`;
/// `nvme://0000:01:00.0` is one on this machine's bus: `pcie_endpoint`; `homi:NAME` is one that a
/// daemon of this machine lends: `homi_endpoint`.
/// `rdma://...` is a subsystem behind a network: `rdma_endpoint`. `gnstor://...` is the daemon of
/// an array, which says where its data is: `control_endpoint`. `endpoint_help()` says what each
/// option may be; docs/endpoints.md shows it.
struct endpoint {
  std::optional<control_endpoint> control;  ///< set for `gnstor://`, and `rdma` with it
  std::optional<rdma_endpoint> rdma;  ///< set for `rdma://`; the other members then mean nothing
  std::optional<nvme_endpoint> nvme;  ///< set for `emu-nvme:`; likewise
  std::optional<disk_endpoint> disk;  ///< set for `disk:`; likewise
  std::optional<pcie_endpoint> pcie;  ///< set for `nvme://`; likewise
  std::optional<homi_endpoint> homi;  ///< set for `homi:`; likewise
  std::uint32_t ssds = 4;
  std::uint32_t replicas = 2;  ///< default of new volumes
  std::uint64_t capacity_bytes = std::uint64_t{1} << 30;
  bool grow = false;  ///< `flash` may have fewer SSDs: empty ones are added, for new volumes
  /// Folder of one file per SSD, which survives a process that is killed, except with
  /// `media_kind::hbm`; empty: nothing outlives the process.
  std::string flash;
  /// Whether a Flush, a write with FUA and the end of a session wait until files are on their disk,
  /// where a power cut of this machine leaves them; `yes` by default. Not on a GPU: its files lie
  /// in memory.
  std::optional<bool> sync;
  runner_kind runner = runner_kind::automatic;
  media_kind media = media_kind::host;
  int device = 0;                   ///< GPU of the array node
  std::uint32_t shards = 0;         ///< of each SSD; 0: the default for the capacity
  std::uint32_t threads = 1;        ///< of the CPU runner
  std::optional<bool> check_reads;  ///< compare what is read with its CRC; by default unless the
                                    ///< array node is a GPU, whose memory corrects errors itself
  timing_kind timing = timing_kind::off;  ///< of runner=cpu and runner=sim
  send_kind send = send_kind::direct;
  std::uint64_t send_chunk = 16 << 10;  ///< bytes of a synchronised send's chunk
  std::uint64_t send_buffer = 1 << 20;  ///< bytes of the NIC's memory that reads share
  source_kind source = source_kind::flash;
  std::uint64_t max_transfer = 128 << 10;  ///< bytes of one command
  bool proxied = false;            ///< transport=proxy: kernels' requests go through a CPU thread
  bool scatter_responses = false;  ///< responses=cqe: the NIC puts them inside their completions
  bool resident = true;     ///< false: a GPU's node runs only while kernels or this CPU use it, for
                            ///< tools that wait for every kernel (compute-sanitizer, profilers)
  std::uint32_t lanes = 1;  ///< of each firmware warp of the simulated runner, 1 to 32
  bool managed = false;  ///< by a manager in this process, which all sessions share
  std::uint32_t sessions = 1;  ///< that the array has queue pairs for: `session::join`
  std::uint32_t nics = 1;      ///< a power of two; channel k uses NIC k modulo `nics`
  std::uint64_t nic_rate =
      0;  ///< bytes per second that each moves at most; 0: as fast as copies go

  /// Throws `input_error` that names what is wrong and what exists.
  static endpoint parse(std::string_view text);

  /// True where volumes are namespaces or disks of this machine.
  bool is_local() const { return nvme || disk || pcie || homi; }
};

}  // namespace gnstor::host
