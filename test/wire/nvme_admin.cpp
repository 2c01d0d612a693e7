/// Admin data structures and commands against libnvme's structures and constants.

#include "random_fields.hpp"
#include <gnstor/wire/fabrics/discovery_header.hpp>
#include <gnstor/wire/nvme/asynchronous_event.hpp>
#include <gnstor/wire/nvme/controller_properties.hpp>
#include <gnstor/wire/nvme/features.hpp>
#include <gnstor/wire/nvme/identify.hpp>
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

TEST_CASE("the Identify Controller structure is libnvme's") {
  using ours = nvme::identify_controller;
  using theirs = nvme_id_ctrl;
  CHECK(sizeof(ours) == sizeof(theirs));
  SAME_FIELD(vid, vid);
  SAME_FIELD(ssvid, ssvid);
  SAME_FIELD(sn, sn);
  SAME_FIELD(mn, mn);
  SAME_FIELD(fr, fr);
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
  SAME_FIELD(lpa, lpa);
  SAME_FIELD(elpe, elpe);
  SAME_FIELD(kas, kas);
  SAME_FIELD(sqes, sqes);
  SAME_FIELD(cqes, cqes);
  SAME_FIELD(maxcmd, maxcmd);
  SAME_FIELD(nn, nn);
  SAME_FIELD(oncs, oncs);
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
  CHECK(is(nvme::feature_number_of_queues, NVME_FEAT_FID_NUM_QUEUES));
  CHECK(is(nvme::feature_asynchronous_events, NVME_FEAT_FID_ASYNC_EVENT));
  CHECK(is(nvme::feature_keep_alive_timer, NVME_FEAT_FID_KATO));
  CHECK(is(nvme::log_error_information, NVME_LOG_LID_ERROR));
  CHECK(is(nvme::log_health, NVME_LOG_LID_SMART));
  CHECK(is(nvme::log_firmware_slot, NVME_LOG_LID_FW_SLOT));
  CHECK(is(nvme::log_changed_namespaces, NVME_LOG_LID_CHANGED_NS));
  CHECK(is(nvme::log_discovery, NVME_LOG_LID_DISCOVER));
  CHECK(is(nvme::event_type_error, NVME_AER_ERROR));
  CHECK(is(nvme::event_type_health, NVME_AER_SMART));
  CHECK(is(nvme::event_type_notice, NVME_AER_NOTICE));
  CHECK(is(nvme::notice_namespace_changed, NVME_AER_NOTICE_NS_CHANGED));
  CHECK(is(nvme::event_namespace_attribute, NVME_CTRL_OAES_NA));
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
  random_fields fields("controller properties");
  for (int round = 0; round < random_rounds; ++round) {
    const auto cap = fields.draw<std::uint64_t>();
    REQUIRE(nvme::max_queue_entries(cap) == NVME_CAP_MQES(cap) + 1);
    REQUIRE(nvme::ready_timeout_ms(cap) == NVME_CAP_TO(cap) * 500);
    REQUIRE(nvme::min_page_bytes(cap) == 1u << (12 + NVME_CAP_MPSMIN(cap)));
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

TEST_CASE("an event is type, code and log page") {
  const auto event = nvme::asynchronous_event::from(0x00fc0102);
  CHECK(event.type == 2);
  CHECK(event.code == 1);
  CHECK(event.log_page == 0xfc);
  CHECK(event.dw0() == 0x00fc0102);
}

}  // namespace
