/// Admin data structures and commands against libnvme's structures and constants.

#include "random_fields.hpp"
#include <gnstor/wire/fabrics/discovery_header.hpp>
#include <gnstor/wire/nvme/arbitration.hpp>
#include <gnstor/wire/nvme/asynchronous_event.hpp>
#include <gnstor/wire/nvme/commands_log.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/error_log_entry.hpp>
#include <gnstor/wire/nvme/features.hpp>
#include <gnstor/wire/nvme/firmware_log.hpp>
#include <gnstor/wire/nvme/health_log.hpp>
#include <gnstor/wire/nvme/identify.hpp>
#include <gnstor/wire/nvme/lba_status.hpp>
#include <gnstor/wire/nvme/log_page.hpp>

#include <doctest/doctest.h>
#include <nvme/types.h>

#include <cstddef>

namespace {

namespace nvme = gnstor::wire::nvme;
namespace fabrics = gnstor::wire::fabrics;
using gnstor::test::random_fields;
using gnstor::test::random_rounds;

constexpr auto is = [](auto ours, auto theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
};

/// Same offset and same width.
#define SAME_FIELD(ours_field, theirs_field)                           \
  CHECK(offsetof(ours, ours_field) == offsetof(theirs, theirs_field)); \
  CHECK(sizeof(ours::ours_field) == sizeof(((theirs*)nullptr)->theirs_field))

TEST_CASE("Get LBA Status and its answer are libnvme's") {
  CHECK(is(nvme::admin_opcode::get_lba_status, nvme_admin_get_lba_status));
  {
    using ours = nvme::lba_status_descriptor;
    using theirs = nvme_lba_status_desc;
    CHECK(sizeof(ours) == sizeof(theirs));
    SAME_FIELD(slba, dslba);
    SAME_FIELD(blocks, nlb);
    SAME_FIELD(status, status);
  }
  using ours = nvme::lba_status_list;
  using theirs = nvme_lba_status;
  CHECK(sizeof(ours) == offsetof(theirs, descs));
  SAME_FIELD(descriptors, nlsd);
  SAME_FIELD(completion, cmpc);
  const auto e = nvme::make_get_lba_status(7, 2, 0x123456789a, 1000, 4096);
  CHECK(e.cdw10 == 0x3456789a);
  CHECK(e.cdw11 == 0x12);
  CHECK(e.cdw12 == 1023);  // dwords, 0's based
  CHECK(e.cdw13 == (0x02u << 24 | 1000));
  CHECK(nvme::lba_status_bytes(e) == 4096);
  CHECK(nvme::lba_status_blocks(e) == 1000);
}

TEST_CASE("the Identify Controller structure is libnvme's") {
  using ours = nvme::identify_controller;
  using theirs = nvme_id_ctrl;
  CHECK(sizeof(ours) == sizeof(theirs));
  SAME_FIELD(vid, vid);
  SAME_FIELD(ssvid, ssvid);
  SAME_FIELD(sn, sn);
  SAME_FIELD(mn, mn);
  SAME_FIELD(fr, fr);
  SAME_FIELD(rab, rab);
  SAME_FIELD(cmic, cmic);
  SAME_FIELD(mdts, mdts);
  SAME_FIELD(cntlid, cntlid);
  SAME_FIELD(ver, ver);
  SAME_FIELD(oaes, oaes);
  SAME_FIELD(ctratt, ctratt);
  SAME_FIELD(cntrltype, cntrltype);
  SAME_FIELD(oacs, oacs);
  SAME_FIELD(acl, acl);
  SAME_FIELD(aerl, aerl);
  SAME_FIELD(frmw, frmw);
  SAME_FIELD(lpa, lpa);
  SAME_FIELD(elpe, elpe);
  SAME_FIELD(npss, npss);
  SAME_FIELD(avscc, avscc);
  SAME_FIELD(apsta, apsta);
  SAME_FIELD(wctemp, wctemp);
  SAME_FIELD(cctemp, cctemp);
  SAME_FIELD(kas, kas);
  SAME_FIELD(sqes, sqes);
  SAME_FIELD(cqes, cqes);
  SAME_FIELD(maxcmd, maxcmd);
  SAME_FIELD(nn, nn);
  SAME_FIELD(oncs, oncs);
  SAME_FIELD(fuses, fuses);
  SAME_FIELD(fna, fna);
  SAME_FIELD(vwc, vwc);
  SAME_FIELD(sgls, sgls);
  SAME_FIELD(mnan, mnan);
  SAME_FIELD(subnqn, subnqn);
  SAME_FIELD(ioccsz, ioccsz);
  SAME_FIELD(iorcsz, iorcsz);
  SAME_FIELD(icdoff, icdoff);
  SAME_FIELD(fcatt, fcatt);
  SAME_FIELD(msdbd, msdbd);
  SAME_FIELD(ofcs, ofcs);
}

TEST_CASE("the Identify Namespace structure is libnvme's") {
  using ours = nvme::identify_namespace;
  using theirs = nvme_id_ns;
  CHECK(sizeof(ours) == sizeof(theirs));
  SAME_FIELD(nsze, nsze);
  SAME_FIELD(ncap, ncap);
  SAME_FIELD(nuse, nuse);
  SAME_FIELD(nsfeat, nsfeat);
  SAME_FIELD(nlbaf, nlbaf);
  SAME_FIELD(flbas, flbas);
  SAME_FIELD(mc, mc);
  SAME_FIELD(dps, dps);
  SAME_FIELD(nmic, nmic);
  SAME_FIELD(dlfeat, dlfeat);
  SAME_FIELD(noiob, noiob);
  SAME_FIELD(nsattr, nsattr);
  SAME_FIELD(nguid, nguid);
  SAME_FIELD(eui64, eui64);
  SAME_FIELD(lbaf, lbaf);
  CHECK(sizeof(nvme::namespace_list) == sizeof(nvme_ns_list));
}

TEST_CASE("the Identify Controller structure of the NVM command set is libnvme's") {
  using ours = nvme::identify_nvm_controller;
  using theirs = nvme_id_ctrl_nvm;
  CHECK(sizeof(ours) == sizeof(theirs));
  SAME_FIELD(vsl, vsl);
  SAME_FIELD(wzsl, wzsl);
  SAME_FIELD(wusl, wusl);
  SAME_FIELD(dmrl, dmrl);
  SAME_FIELD(dmrsl, dmrsl);
  SAME_FIELD(dmsl, dmsl);
}

TEST_CASE("a namespace's identification descriptors are libnvme's") {
  using ours = nvme::namespace_descriptor;
  using theirs = nvme_ns_id_desc;
  SAME_FIELD(nidt, nidt);
  SAME_FIELD(nidl, nidl);
  CHECK(offsetof(ours, nid) == offsetof(theirs, nid));
  CHECK(sizeof(ours) == sizeof(theirs) + NVME_NIDT_NGUID_LEN);
  CHECK(is(nvme::nidt_nguid, NVME_NIDT_NGUID));
  CHECK(is(nvme::nidt_uuid, NVME_NIDT_UUID));
  CHECK(is(NVME_NIDT_NGUID_LEN, NVME_NIDT_UUID_LEN));
}

TEST_CASE("the health log is libnvme's") {
  using ours = nvme::health_log;
  using theirs = nvme_smart_log;
  CHECK(sizeof(ours) == sizeof(theirs));
  SAME_FIELD(critical_warning, critical_warning);
  SAME_FIELD(temperature, temperature);
  SAME_FIELD(spare_percent, avail_spare);
  SAME_FIELD(spare_threshold_percent, spare_thresh);
  SAME_FIELD(used_percent, percent_used);
  SAME_FIELD(data_units_read, data_units_read);
  SAME_FIELD(data_units_written, data_units_written);
  SAME_FIELD(host_reads, host_reads);
  SAME_FIELD(host_writes, host_writes);
  SAME_FIELD(busy_minutes, ctrl_busy_time);
  SAME_FIELD(power_cycles, power_cycles);
  SAME_FIELD(power_on_hours, power_on_hours);
  SAME_FIELD(unsafe_shutdowns, unsafe_shutdowns);
  SAME_FIELD(media_errors, media_errors);
  SAME_FIELD(error_log_entries, num_err_log_entries);
}

TEST_CASE("the logs of errors, firmware, and commands and their effects are libnvme's") {
  {
    using ours = nvme::error_log_entry;
    using theirs = nvme_error_log_page;
    CHECK(sizeof(ours) == sizeof(theirs));
    SAME_FIELD(error_count, error_count);
    SAME_FIELD(sqid, sqid);
    SAME_FIELD(command_id, cmdid);
    SAME_FIELD(status, status_field);
    SAME_FIELD(parameter, parm_error_location);
    SAME_FIELD(lba, lba);
    SAME_FIELD(nsid, nsid);
  }
  {
    using ours = nvme::firmware_log;
    using theirs = nvme_firmware_slot;
    CHECK(sizeof(ours) == sizeof(theirs));
    SAME_FIELD(active, afi);
    SAME_FIELD(revision, frs);
  }
  using ours = nvme::commands_log;
  using theirs = nvme_cmd_effects_log;
  CHECK(sizeof(ours) == sizeof(theirs));
  SAME_FIELD(admin, acs);
  SAME_FIELD(io, iocs);
  CHECK(is(nvme::command_supported, NVME_CMD_EFFECTS_CSUPP));
  CHECK(is(nvme::command_changes_blocks, NVME_CMD_EFFECTS_LBCC));
}

TEST_CASE("an LBA format is libnvme's") {
  using ours = nvme::lba_format;
  using theirs = nvme_lbaf;
  CHECK(sizeof(ours) == sizeof(theirs));
  SAME_FIELD(metadata_bytes, ms);
  SAME_FIELD(data_shift, ds);
  SAME_FIELD(performance, rp);
}

TEST_CASE("the discovery log page is libnvme's") {
  {
    using ours = fabrics::discovery_header;
    using theirs = nvmf_discovery_log;
    CHECK(sizeof(ours) == sizeof(theirs));
    SAME_FIELD(genctr, genctr);
    SAME_FIELD(numrec, numrec);
    SAME_FIELD(recfmt, recfmt);
  }
  using ours = fabrics::discovery_entry;
  using theirs = nvmf_disc_log_entry;
  CHECK(sizeof(ours) == sizeof(theirs));
  SAME_FIELD(trtype, trtype);
  SAME_FIELD(adrfam, adrfam);
  SAME_FIELD(subtype, subtype);
  SAME_FIELD(treq, treq);
  SAME_FIELD(portid, portid);
  SAME_FIELD(cntlid, cntlid);
  SAME_FIELD(asqsz, asqsz);
  SAME_FIELD(eflags, eflags);
  SAME_FIELD(trsvcid, trsvcid);
  SAME_FIELD(subnqn, subnqn);
  SAME_FIELD(traddr, traddr);
  SAME_FIELD(tsas, tsas);
  CHECK(offsetof(ours::rdma_settings, qptype) == offsetof(nvmf_tsas, rdma.qptype));
  CHECK(offsetof(ours::rdma_settings, prtype) == offsetof(nvmf_tsas, rdma.prtype));
  CHECK(offsetof(ours::rdma_settings, cms) == offsetof(nvmf_tsas, rdma.cms));
  CHECK(is(fabrics::channel_not_secured, NVMF_TREQ_NOT_REQUIRED));
  CHECK(is(fabrics::rdma_connected, NVMF_RDMA_QPTYPE_CONNECTED));
  CHECK(is(fabrics::rdma_any_provider, NVMF_RDMA_PRTYPE_NOT_SPECIFIED));
  CHECK(is(fabrics::rdma_cm, NVMF_RDMA_CMS_RDMA_CM));
  CHECK(is(fabrics::transport_rdma, NVMF_TRTYPE_RDMA));
  CHECK(is(fabrics::transport_tcp, NVMF_TRTYPE_TCP));
  CHECK(is(fabrics::address_ipv4, NVMF_ADDR_FAMILY_IP4));
  CHECK(is(fabrics::address_ipv6, NVMF_ADDR_FAMILY_IP6));
  CHECK(is(fabrics::subsystem_referral, NVME_NQN_DISC));
  CHECK(is(fabrics::subsystem_nvm, NVME_NQN_NVME));
  CHECK(is(fabrics::subsystem_discovery, NVME_NQN_CURR));
  CHECK(std::string(fabrics::discovery_nqn) == NVME_DISC_SUBSYS_NAME);
}

TEST_CASE("Identify selectors, features, log pages and events have libnvme's numbers") {
  CHECK(is(nvme::cns_namespace, NVME_IDENTIFY_CNS_NS));
  CHECK(is(nvme::cns_controller, NVME_IDENTIFY_CNS_CTRL));
  CHECK(is(nvme::cns_active_namespaces, NVME_IDENTIFY_CNS_NS_ACTIVE_LIST));
  CHECK(is(nvme::cns_namespace_descriptors, NVME_IDENTIFY_CNS_NS_DESC_LIST));
  CHECK(is(nvme::cns_command_set_controller, NVME_IDENTIFY_CNS_CSI_CTRL));
  CHECK(is(nvme::identify_bytes, NVME_IDENTIFY_DATA_SIZE));
  CHECK(is(nvme::feature_arbitration, NVME_FEAT_FID_ARBITRATION));
  CHECK(is(nvme::feature_power_management, NVME_FEAT_FID_POWER_MGMT));
  CHECK(is(nvme::feature_temperature_threshold, NVME_FEAT_FID_TEMP_THRESH));
  CHECK(is(nvme::feature_error_recovery, NVME_FEAT_FID_ERR_RECOVERY));
  CHECK(is(nvme::feature_volatile_write_cache, NVME_FEAT_FID_VOLATILE_WC));
  CHECK(is(nvme::feature_number_of_queues, NVME_FEAT_FID_NUM_QUEUES));
  CHECK(is(nvme::feature_write_atomicity, NVME_FEAT_FID_WRITE_ATOMIC));
  CHECK(is(nvme::feature_asynchronous_events, NVME_FEAT_FID_ASYNC_EVENT));
  CHECK(is(nvme::feature_keep_alive_timer, NVME_FEAT_FID_KATO));
  CHECK(is(nvme::feature_host_identifier, NVME_FEAT_FID_HOST_ID));
  CHECK(is(nvme::select_current, NVME_GET_FEATURES_SEL_CURRENT));
  CHECK(is(nvme::select_default, NVME_GET_FEATURES_SEL_DEFAULT));
  CHECK(is(nvme::select_saved, NVME_GET_FEATURES_SEL_SAVED));
  CHECK(is(nvme::select_capabilities, NVME_GET_FEATURES_SEL_SUPPORTED));
  CHECK(is(nvme::write_cache_enabled, NVME_FEAT_VWC_WCE_MASK << NVME_FEAT_VWC_WCE_SHIFT));
  CHECK(is(nvme::log_error_information, NVME_LOG_LID_ERROR));
  CHECK(is(nvme::log_health, NVME_LOG_LID_SMART));
  CHECK(is(nvme::log_firmware_slot, NVME_LOG_LID_FW_SLOT));
  CHECK(is(nvme::log_changed_namespaces, NVME_LOG_LID_CHANGED_NS));
  CHECK(is(nvme::log_commands, NVME_LOG_LID_CMD_EFFECTS));
  CHECK(is(nvme::log_discovery, NVME_LOG_LID_DISCOVER));
  CHECK(is(nvme::all_namespaces, NVME_NSID_ALL));
  CHECK(is(nvme::event_type_error, NVME_AER_ERROR));
  CHECK(is(nvme::event_type_health, NVME_AER_SMART));
  CHECK(is(nvme::event_type_notice, NVME_AER_NOTICE));
  CHECK(is(nvme::notice_namespace_changed, NVME_AER_NOTICE_NS_CHANGED));
  CHECK(is(nvme::notice_discovery_changed, NVME_AER_NOTICE_DISC_CHANGED));
  CHECK(is(nvme::event_namespace_attribute, NVME_CTRL_OAES_NA));
  CHECK(nvme::event_discovery_log == static_cast<std::uint32_t>(NVME_CTRL_OAES_DL));
}

TEST_CASE("what Identify announces in bits has libnvme's bits") {
  CHECK(is(nvme::cmic_controllers, NVME_CTRL_CMIC_MULTI_CTRL));
  CHECK(is(nvme::ctratt_long_host_id, NVME_CTRL_CTRATT_128_ID));
  CHECK(is(nvme::ctratt_traffic_keeps_alive, NVME_CTRL_CTRATT_TBKAS));
  CHECK(is(nvme::cntrltype_io, NVME_CTRL_CNTRLTYPE_IO));
  CHECK(is(nvme::cntrltype_discovery, NVME_CTRL_CNTRLTYPE_DISCOVERY));
  CHECK(is(nvme::frmw_first_read_only, NVME_CTRL_FRMW_1ST_RO));
  CHECK(is(nvme::frmw_one_slot, NVME_CTRL_FRMW_NR_SLOTS & 1 << 1));
  CHECK(is(nvme::lpa_commands, NVME_CTRL_LPA_CMD_EFFECTS));
  CHECK(is(nvme::lpa_extended, NVME_CTRL_LPA_EXTENDED));
  CHECK(is(nvme::vwc_present, NVME_CTRL_VWC_PRESENT));
  CHECK(is(nvme::vwc_flush_all, NVME_CTRL_VWC_FLUSH));
  CHECK(is(nvme::sgls_supported_mask, NVME_CTRL_SGLS_SUPPORTED));
  CHECK(is(nvme::nmic_shared, NVME_NS_NMIC_SHARED));
  CHECK(is(nvme::dps_type_mask, NVME_NS_DPS_PI_MASK));
  CHECK(is(nvme::dlfeat_reads_zeroes, NVME_NS_DLFEAT_RB_ALL_0S));
  CHECK(is(nvme::dlfeat_write_zeroes, NVME_NS_DLFEAT_WRITE_ZEROES));
  CHECK(is(nvme::nsattr_write_protected, NVME_NS_NSATTR_WRITE_PROTECTED));
  CHECK(is(nvme::oncs_dataset_management, NVME_CTRL_ONCS_DSM));
  CHECK(is(nvme::oncs_write_zeroes, NVME_CTRL_ONCS_WRITE_ZEROES));
  CHECK(is(nvme::sgls_keyed, NVME_CTRL_SGLS_KEYED));
  CHECK(is(nvme::sgls_in_capsule_offset, NVME_CTRL_SGLS_OFFSET));
}

TEST_CASE("properties are taken apart as libnvme's macros do") {
  CHECK(is(nvme::cc_enable, 1u << NVME_CC_EN_SHIFT));
  CHECK(is(nvme::cc_shutdown_normal, NVME_CC_SHN_NORMAL << NVME_CC_SHN_SHIFT));
  CHECK(is(nvme::cc_entry_sizes, 6u << NVME_CC_IOSQES_SHIFT | 4u << NVME_CC_IOCQES_SHIFT));
  CHECK(is(nvme::csts_ready, 1u << NVME_CSTS_RDY_SHIFT));
  CHECK(is(nvme::csts_fatal, 1u << NVME_CSTS_CFS_SHIFT));
  CHECK(is(nvme::csts_shutdown_mask, NVME_CSTS_SHST_MASK << NVME_CSTS_SHST_SHIFT));
  CHECK(is(nvme::csts_shutdown_complete, NVME_CSTS_SHST_CMPLT << NVME_CSTS_SHST_SHIFT));
  CHECK(is(nvme::cc_command_set_mask, NVME_CC_CSS_MASK << NVME_CC_CSS_SHIFT));
  CHECK(is(nvme::cc_page_size_mask, NVME_CC_MPS_MASK << NVME_CC_MPS_SHIFT));
  CHECK(is(nvme::cc_arbitration_mask, NVME_CC_AMS_MASK << NVME_CC_AMS_SHIFT));
  CHECK(is(nvme::cc_shutdown_mask, NVME_CC_SHN_MASK << NVME_CC_SHN_SHIFT));
  CHECK(is(nvme::cap_contiguous_queues, 1u << NVME_CAP_CQR_SHIFT));
  CHECK(is(nvme::cap_nvm_command_set, 1ull << NVME_CAP_CSS_SHIFT));
  CHECK(is(nvme::version_1_4, 1u << 16 | 4u << 8));
  random_fields fields("controller properties");
  for (int round = 0; round < random_rounds; ++round) {
    const auto cap = fields.draw<std::uint64_t>();
    REQUIRE(nvme::max_queue_entries(cap) == NVME_CAP_MQES(cap) + 1);
    REQUIRE(nvme::ready_timeout_ms(cap) == NVME_CAP_TO(cap) * 500);
    REQUIRE(nvme::min_page_bytes(cap) == 1u << (12 + NVME_CAP_MPSMIN(cap)));
    const auto cc = fields.draw<std::uint32_t>();
    REQUIRE(nvme::is_basic_configuration(cc) ==
            (NVME_CC_IOSQES(cc) == 6 && NVME_CC_IOCQES(cc) == 4 && NVME_CC_MPS(cc) == 0 &&
             NVME_CC_AMS(cc) == NVME_CC_AMS_RR && NVME_CC_CSS(cc) == NVME_CC_CSS_NVM));
    const std::uint32_t entries = (cc & 0xffff) + 1;
    const std::uint64_t made = nvme::make_capabilities(entries, (cap & 0xff) * 500);
    REQUIRE(nvme::max_queue_entries(made) == entries);
    REQUIRE(nvme::ready_timeout_ms(made) == (cap & 0xff) * 500);
    REQUIRE(nvme::min_page_bytes(made) == 4096);
    REQUIRE(nvme::command_set_selection(made) == 0);
  }
}

TEST_CASE("Identify, features and Get Log Page commands have their fields in place") {
  const nvme::keyed_sgl data = nvme::make_keyed_sgl(0x1000, 4096, 7);
  const auto identify = nvme::make_identify(3, nvme::cns_active_namespaces, 5, data);
  CHECK(identify.opcode == nvme_admin_identify);
  CHECK(identify.nsid == 5);
  CHECK(identify.cdw10 == 2);
  CHECK(identify.dptr.key() == 7);
  const auto set =
      nvme::make_set_features(1, nvme::feature_number_of_queues, nvme::queue_count_value(4));
  CHECK(set.opcode == nvme_admin_set_features);
  CHECK(set.cdw10 == 7);
  CHECK(set.cdw11 == 0x00030003);
  CHECK(nvme::make_get_features(1, 0x0f).opcode == nvme_admin_get_features);
  const auto log = nvme::make_get_log_page(9, nvme::log_discovery, 0x100000400, 0x40000, data);
  CHECK(log.opcode == nvme_admin_get_log_page);
  CHECK(log.cdw10 == 0xffff0070);
  CHECK(log.cdw11 == 0);
  CHECK(log.cdw12 == 0x400);
  CHECK(log.cdw13 == 1);
  CHECK(nvme::make_get_log_page(9, 2, 0, 0x40004, data).cdw11 == 1);
}

TEST_CASE("a target reads from Identify, features and Get Log Page what a host has put there") {
  random_fields fields("admin commands");
  for (int round = 0; round < random_rounds; ++round) {
    const auto id = fields.draw<std::uint8_t>();
    const auto value = fields.draw<std::uint32_t>();
    const auto offset = fields.draw<std::uint64_t>();
    const std::uint32_t bytes = (value | 3) - 3 == 0 ? 4 : (value | 3) - 3;
    REQUIRE(nvme::cns_of(nvme::make_identify(1, id, value, {})) == id);
    REQUIRE(nvme::command_set_of(nvme::make_identify(1, id, value, {})) == 0);
    auto set = nvme::make_set_features(1, id, value);
    REQUIRE(nvme::feature_of(set) == id);
    REQUIRE_FALSE(nvme::saves_feature(set));
    set.cdw10 |= 1u << 31;
    REQUIRE(nvme::saves_feature(set));
    auto get = nvme::make_get_features(1, id);
    REQUIRE(nvme::feature_of(get) == id);
    REQUIRE(nvme::selected_value(get) == nvme::select_current);
    get.cdw10 |= 3u << 8;
    REQUIRE(nvme::selected_value(get) == nvme::select_capabilities);
    auto log = nvme::make_get_log_page(1, id, offset, bytes, {});
    REQUIRE(nvme::log_of(log) == id);
    REQUIRE(nvme::log_offset_of(log) == offset);
    REQUIRE(nvme::log_bytes_of(log) == bytes);
    REQUIRE_FALSE(nvme::log_by_index(log));
    REQUIRE_FALSE(nvme::log_retains_event(log));
    log.cdw10 |= 1u << 15;
    REQUIRE(nvme::log_retains_event(log));
    REQUIRE(nvme::log_of(log) == id);
    REQUIRE(nvme::log_bytes_of(log) == bytes);
  }
  CHECK(nvme::is_queue_count(nvme::queue_count_value(nvme::max_io_queues)));
  CHECK_FALSE(nvme::is_queue_count(0xffff0000));
  CHECK_FALSE(nvme::is_queue_count(0x0000ffff));
  CHECK(nvme::threshold_kelvin(0x00120157) == 343);
  CHECK(nvme::threshold_sensor(0x00120157) == 2);
}

TEST_CASE("an event is type, code and log page") {
  const auto event = nvme::asynchronous_event::from(0x00fc0102);
  CHECK(event.type == 2);
  CHECK(event.code == 1);
  CHECK(event.log_page == 0xfc);
  CHECK(event.dw0() == 0x00fc0102);
}

}  // namespace
