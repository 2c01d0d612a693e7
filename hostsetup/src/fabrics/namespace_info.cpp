#include "namespace_info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace gnstor::host::fabrics {

namespace_info namespace_info::from(std::uint32_t nsid,
                                    const wire::nvme::identify_namespace& said) {
  const wire::nvme::lba_format format = said.format();
  const bool is_protected = (said.dps & wire::nvme::dps_type_mask) != 0;
  namespace_info n;
  n.nsid = nsid;
  n.blocks = said.nsze;
  n.read_only = (said.nsattr & wire::nvme::nsattr_write_protected) != 0;
  std::copy(std::begin(said.nguid), std::end(said.nguid), n.nguid.begin());
  std::copy(std::begin(said.eui64), std::end(said.eui64), n.eui64.begin());
  if (said.nsze == 0) {
    n.problem = fmt::format(
        "namespace {} is not there: `nvme list` on the target's machine, or "
        "the endpoint without nsid=, shows which are",
        nsid);
  } else if (format.data_shift != 9 && format.data_shift != 12) {
    n.problem = fmt::format(
        "namespace {} has blocks of 2^{} bytes; gnstor reads blocks of 512 and 4096 bytes: give it "
        "another LBA format (nvme format --block-size=4096)",
        nsid, format.data_shift);
  } else if (format.metadata_bytes != 0 || is_protected) {
    n.problem = fmt::format(
        "namespace {} has {} bytes of metadata a block{}; gnstor moves data alone: give it an LBA "
        "format without metadata (nvme format --lbaf=N --pi=0)",
        nsid, format.metadata_bytes, is_protected ? " and protection information" : "");
  }
  if (format.data_shift < 32) n.block_bytes = 1u << format.data_shift;
  if (n.problem.empty() && n.blocks > ~std::uint64_t{0} / n.block_bytes) {
    n.problem = fmt::format(
        "namespace {} says that it has {} blocks of {} bytes, more than there can be: its target "
        "is broken",
        nsid, n.blocks, n.block_bytes);
  }
  return n;
}

}  // namespace gnstor::host::fabrics
