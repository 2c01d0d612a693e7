#include "array_replies.hpp"

#include <gnstor/core/units.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/afa/volume_rules.hpp>

#include <fmt/format.h>

namespace gnstor::host {
namespace {

void need(bool sound, const char* what) {
  if (sound) return;
  throw error(
      fmt::format("the array's answer is malformed ({}): its target is faulty, or of another "
                  "version of gnstor",
                  what));
}

}  // namespace

void check_reply(const wire::afa::array_description& said) {
  need(said.version == wire::afa::payload_version || said.version == wire::afa::version_with_others,
       "version of its description");
  need(said.ssd_count >= 1 && said.ssd_count <= wire::afa::max_array_ssds, "number of SSDs");
  need(said.block_bytes == block_bytes, "block size");
  need(said.max_transfer_blocks >= 1 && said.max_transfer_blocks <= 65536, "largest transfer");
  need(said.own_client != 0, "client id");
  const std::uint64_t none = said.ssd_count < 64 ? ~std::uint64_t{0} << said.ssd_count : 0;
  need(((said.absent | said.filling) & none) == 0 && (said.absent & said.filling) == 0,
       "SSDs that are absent or filled");
  need(said.others().is_sound(said.ssd_count), "SSDs that stand in for others");
}

void check_reply(const wire::afa::volume_list& said, std::uint16_t asked, std::uint32_t ssd_count) {
  need(said.version == wire::afa::payload_version, "version of its volume list");
  need(said.count <= wire::afa::volume_list_records, "number of volumes");
  std::uint32_t least = asked;
  for (std::uint32_t k = 0; k < said.count; ++k) {
    const wire::afa::volume_record& r = said.records[k];
    need(r.vid >= least, "order of volumes");
    need(wire::afa::check_record(r, ssd_count) == 0, "a volume's record");
    least = r.vid + 1u;
  }
  need(said.next_vid == 0 || said.next_vid >= least, "next volume");
  need(said.next_vid == 0 || said.count != 0, "an empty page");
}

}  // namespace gnstor::host
