#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gnstor::host {

/// A local NVMe controller that is emulated in this process, or several alike:
/// `emu-nvme:?name=value&...`.
///
/// `session` opens it like an array: its namespaces are volumes, which kernels read and write by
/// I/O queues of their own. docs/endpoints.md shows the options.
struct nvme_endpoint {
  enum class runner_kind : std::uint8_t {
    automatic,  ///< the GPU where kernels run on one, else CPU threads
    cpu,        ///< CPU threads
    gpu,        ///< warps beside the kernels of each run
    simulated,  ///< lanes of the kernels' own host executor
  };
  enum class media_kind : std::uint8_t {
    host,  ///< host memory
    hbm,   ///< memory of the GPU whose warps serve the queues
    file,  ///< a mapped file, by CPU threads
  };

  std::uint64_t bytes = 64 << 20;  ///< of each namespace
  std::uint32_t lba_bytes = 4096;  ///< 512 or 4096
  std::uint32_t namespaces = 1;
  std::uint32_t queues = 65;               ///< I/O queues that it grants
  std::uint32_t max_transfer = 128 << 10;  ///< bytes of one command
  std::string file;  ///< of media=file; of namespace N behind the first FILE.N
  media_kind media = media_kind::host;
  runner_kind runner = runner_kind::automatic;
  std::uint32_t workers = 0;      ///< warps or lanes that serve a queue together; 0: by the
                                  ///< runner
  std::uint32_t threads = 1;      ///< of the CPU runner
  std::uint32_t lanes = 1;        ///< of each warp of the simulated runner
  std::uint32_t controllers = 1;  ///< 1 to 16: a volume is striped over all of them
  std::uint32_t stripe_bytes = 128 << 10;  ///< a multiple of 4096

  /// True if `text` names such a controller, right or wrong.
  static bool is_meant_by(std::string_view text) { return text.starts_with("emu-nvme:"); }
};

}  // namespace gnstor::host
