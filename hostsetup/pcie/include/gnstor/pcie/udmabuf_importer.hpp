#pragma once

#include <gnstor/pcie/memory_importer.hpp>

#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/types.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace gnstor::host::pcie {

/// Imports by the module `udmabuf_import`, or a kernel whose udmabuf has its three calls: no kernel
/// of a distribution has either. **Unproven**: no machine with it was at hand; its structures and
/// numbers are those of the module's published header (udmabuf_import.h of uPCIe).
class udmabuf_importer final : public memory_importer {
 public:
  /// True if this machine has it.
  static bool is_there(const char* path = node) {
    return file_descriptor(::open(path, O_RDWR | O_CLOEXEC)).is_open();
  }
  /// Throws `error` with the remedy.
  udmabuf_importer() : file_(::open(node, O_RDWR | O_CLOEXEC)) {
    if (!file_.is_open()) {
      throw error(fmt::format(
          "{}: {}: memory of a GPU is where an SSD reaches it only with the module udmabuf_import",
          node, std::strerror(errno)));
    }
  }

  std::vector<piece> attach(int dma_buf) override {
    attach_call call{dma_buf, 0};
    if (::ioctl(file_.get(), attach_number, &call) != 0)
      throw error(fmt::format("{}: attaching a dma-buf: {}", node, std::strerror(errno)));
    // The structure, and its pieces right behind it.
    std::vector<std::uint64_t> words(1 + 2 * std::size_t{call.count});
    const map_call head{dma_buf, call.count};
    std::memcpy(words.data(), &head, sizeof head);
    if (::ioctl(file_.get(), map_number, words.data()) != 0) {
      const int problem = errno;
      detach(dma_buf);
      throw error(fmt::format("{}: the addresses of a dma-buf: {}", node, std::strerror(problem)));
    }
    std::vector<piece> pieces;
    for (std::uint32_t k = 0; k < call.count; ++k)
      pieces.push_back({words[1 + 2 * k], words[2 + 2 * k]});
    return pieces;
  }
  void detach(int dma_buf) noexcept override {
    (void)::ioctl(file_.get(), detach_number, &dma_buf);
  }

  static constexpr const char* node = "/dev/udmabuf_import";

 private:
  struct attach_call {
    __s32 file;
    __u32 count;  ///< of pieces, which it says
  };
  struct map_call {
    __s32 file;
    __u32 count;
  };
  static_assert(sizeof(attach_call) == 8 && sizeof(map_call) == 8);
  static constexpr unsigned long attach_number = _IOWR('u', 0x47, attach_call);
  static constexpr unsigned long detach_number = _IOW('u', 0x48, int);
  static constexpr unsigned long map_number = _IOWR('u', 0x49, map_call);

  file_descriptor file_;
};

}  // namespace gnstor::host::pcie
