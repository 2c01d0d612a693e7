#pragma once

#include <gnstor/wire/afa/association_end.hpp>
#include <gnstor/wire/fabrics/connect_data.hpp>
#include <gnstor/wire/fabrics/discovery_header.hpp>
#include <gnstor/wire/nvme/features.hpp>
#include <gnstor/wire/nvme/identify.hpp>

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace gnstor::test {

/// What a scripted target is and does, and what it has seen. Tests touch it before a controller is
/// connected, and under `mutex` afterwards.
struct target_script {
  mutable std::mutex mutex;
  std::string subsystem = "nqn.2026-11.test:subsystem";
  std::string only_host;             ///< admits this host alone; empty: all
  std::uint32_t connect_value = 1;   ///< dword 0 of a successful admin Connect
  bool listening = true;             ///< false: connections are refused
  bool silent = false;               ///< no command is answered
  bool silent_keep_alive = false;    ///< no Keep Alive is answered
  bool refuse_keep_alive = false;    ///< as a controller that does not know the command
  bool fatal = false;                ///< CSTS.CFS
  std::uint32_t polls_to_ready = 0;  ///< reads of CSTS until it says ready
  std::uint32_t granted_queues = 4;
  std::uint64_t cap = 0x0000'0000'0200'007f;  ///< 128 entries, ready within 1 s
  wire::nvme::identify_controller identity{};
  std::map<std::uint32_t, wire::nvme::identify_namespace> namespaces;
  std::map<std::uint32_t, std::vector<unsigned char>> media;
  std::vector<wire::fabrics::discovery_entry> log;
  std::uint64_t log_generation = 1;
  std::uint32_t log_changes = 0;  ///< after so many reads of its header the list changes each time

  std::uint64_t configuration = 0;  ///< CC; ready as soon as it is enabled
  std::uint32_t keep_alives = 0;
  std::uint32_t shutdowns = 0;
  std::uint32_t header_reads = 0;
  std::vector<std::uint16_t> connects;  ///< queue ids
  std::vector<wire::fabrics::connect_data> connect_data;
  std::uint32_t keep_alive_ms = 0;
  std::vector<std::uint32_t> events_enabled;
  std::uint16_t end_status = 0;                   ///< of an ASSOCIATION END
  std::vector<wire::afa::association_end> ended;  ///< that were asked for

  target_script() {
    identity.cntlid = 1;
    identity.sgls = 1 | wire::nvme::sgls_keyed;
    identity.ioccsz = 4;
    identity.iorcsz = 1;
    identity.kas = 1;
    identity.cntrltype = 1;
    identity.mdts = 5;
    identity.oaes = wire::nvme::event_namespace_attribute;
    std::memcpy(identity.sn, "SERIAL              ", 20);
    add_namespace(1, 1024, 9);
  }

  void add_namespace(std::uint32_t nsid, std::uint64_t blocks, std::uint8_t shift,
                     std::uint16_t metadata = 0) {
    wire::nvme::identify_namespace n{};
    n.nsze = n.ncap = blocks;
    n.lbaf[0] = {metadata, shift, 0};
    namespaces[nsid] = n;
    media[nsid].resize(blocks << shift);
  }
};

}  // namespace gnstor::test
