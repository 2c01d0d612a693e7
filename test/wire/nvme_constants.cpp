/// NVMe opcodes and status codes against libnvme's.

#include <gnstor/wire/fabrics/property_offset.hpp>
#include <gnstor/wire/fabrics/status.hpp>
#include <gnstor/wire/nvme/opcode.hpp>
#include <gnstor/wire/nvme/read_write.hpp>
#include <gnstor/wire/nvme/status.hpp>

#include <doctest/doctest.h>
#include <nvme/types.h>

#include <initializer_list>

namespace {

namespace nvme = gnstor::wire::nvme;
namespace fabrics = gnstor::wire::fabrics;

constexpr auto is = [](auto ours, int theirs) { return static_cast<int>(ours) == theirs; };

TEST_CASE("I/O opcodes are libnvme's") {
  CHECK(is(nvme::nvm_opcode::flush, nvme_cmd_flush));
  CHECK(is(nvme::nvm_opcode::write, nvme_cmd_write));
  CHECK(is(nvme::nvm_opcode::read, nvme_cmd_read));
  CHECK(is(nvme::nvm_opcode::write_uncorrectable, nvme_cmd_write_uncor));
  CHECK(is(nvme::nvm_opcode::compare, nvme_cmd_compare));
  CHECK(is(nvme::nvm_opcode::write_zeroes, nvme_cmd_write_zeroes));
  CHECK(is(nvme::nvm_opcode::dataset_management, nvme_cmd_dsm));
  CHECK(is(nvme::nvm_opcode::verify, nvme_cmd_verify));
}

TEST_CASE("admin opcodes are libnvme's") {
  CHECK(is(nvme::admin_opcode::get_log_page, nvme_admin_get_log_page));
  CHECK(is(nvme::admin_opcode::identify, nvme_admin_identify));
  CHECK(is(nvme::admin_opcode::abort, nvme_admin_abort_cmd));
  CHECK(is(nvme::admin_opcode::set_features, nvme_admin_set_features));
  CHECK(is(nvme::admin_opcode::get_features, nvme_admin_get_features));
  CHECK(is(nvme::admin_opcode::asynchronous_event_request, nvme_admin_async_event));
  CHECK(is(nvme::admin_opcode::keep_alive, nvme_admin_keep_alive));
  CHECK(is(nvme::fabrics_opcode, nvme_admin_fabrics));
}

TEST_CASE("an opcode's low bits tell the direction of known commands") {
  const auto direction = [](int opcode) {
    return nvme::direction_of(static_cast<std::uint8_t>(opcode));
  };
  CHECK(direction(nvme_cmd_flush) == nvme::transfer_direction::none);
  CHECK(direction(nvme_cmd_write) == nvme::transfer_direction::host_to_controller);
  CHECK(direction(nvme_cmd_dsm) == nvme::transfer_direction::host_to_controller);
  CHECK(direction(nvme_cmd_read) == nvme::transfer_direction::controller_to_host);
  CHECK(direction(nvme_admin_identify) == nvme::transfer_direction::controller_to_host);
}

TEST_CASE("status code types are libnvme's") {
  CHECK(is(nvme::status_code_type::generic, NVME_SCT_GENERIC));
  CHECK(is(nvme::status_code_type::command_specific, NVME_SCT_CMD_SPECIFIC));
  CHECK(is(nvme::status_code_type::media, NVME_SCT_MEDIA));
  CHECK(is(nvme::status_code_type::path, NVME_SCT_PATH));
  CHECK(is(nvme::status_code_type::vendor_specific, NVME_SCT_VS));
}

TEST_CASE("the deallocate bit of Write Zeroes is libnvme's") {
  // libnvme's control word is the upper half of CDW12.
  CHECK(nvme::write_zeroes_deallocate == std::uint32_t{NVME_IO_DEAC} << 16);
}

TEST_CASE("generic status codes are libnvme's") {
  using code = nvme::generic_status;
  CHECK(is(code::success, NVME_SC_SUCCESS));
  CHECK(is(code::invalid_opcode, NVME_SC_INVALID_OPCODE));
  CHECK(is(code::invalid_field, NVME_SC_INVALID_FIELD));
  CHECK(is(code::command_id_conflict, NVME_SC_CMDID_CONFLICT));
  CHECK(is(code::data_transfer_error, NVME_SC_DATA_XFER_ERROR));
  CHECK(is(code::aborted_by_power_loss, NVME_SC_POWER_LOSS));
  CHECK(is(code::internal_error, NVME_SC_INTERNAL));
  CHECK(is(code::command_abort_requested, NVME_SC_ABORT_REQ));
  CHECK(is(code::aborted_by_queue_deletion, NVME_SC_ABORT_QUEUE));
  CHECK(is(code::invalid_namespace, NVME_SC_INVALID_NS));
  CHECK(is(code::command_sequence_error, NVME_SC_CMD_SEQ_ERROR));
  CHECK(is(code::invalid_sgl_segment, NVME_SC_SGL_INVALID_LAST));
  CHECK(is(code::invalid_sgl_count, NVME_SC_SGL_INVALID_COUNT));
  CHECK(is(code::invalid_sgl_length, NVME_SC_SGL_INVALID_DATA));
  CHECK(is(code::invalid_metadata_sgl_length, NVME_SC_SGL_INVALID_METADATA));
  CHECK(is(code::invalid_sgl_type, NVME_SC_SGL_INVALID_TYPE));
  CHECK(is(code::operation_denied, NVME_SC_OP_DENIED));
  CHECK(is(code::invalid_sgl_offset, NVME_SC_SGL_INVALID_OFFSET));
  CHECK(is(code::host_id_inconsistent_format, NVME_SC_HOSTID_FORMAT));
  CHECK(is(code::keep_alive_expired, NVME_SC_KAT_EXPIRED));
  CHECK(is(code::keep_alive_invalid, NVME_SC_KAT_INVALID));
  CHECK(is(code::namespace_write_protected, NVME_SC_NS_WRITE_PROTECTED));
  CHECK(is(code::command_interrupted, NVME_SC_CMD_INTERRUPTED));
  CHECK(is(code::transient_transport_error, NVME_SC_TRAN_TPORT_ERROR));
  CHECK(is(code::lba_out_of_range, NVME_SC_LBA_RANGE));
  CHECK(is(code::capacity_exceeded, NVME_SC_CAP_EXCEEDED));
  CHECK(is(code::namespace_not_ready, NVME_SC_NS_NOT_READY));
  CHECK(is(code::reservation_conflict, NVME_SC_RESERVATION_CONFLICT));
}

TEST_CASE("command specific status codes are libnvme's") {
  using code = nvme::command_status;
  CHECK(is(code::invalid_queue_id, NVME_SC_QID_INVALID));
  CHECK(is(code::invalid_queue_size, NVME_SC_QUEUE_SIZE));
  CHECK(is(code::abort_limit_exceeded, NVME_SC_ABORT_LIMIT));
  CHECK(is(code::asynchronous_event_limit_exceeded, NVME_SC_ASYNC_LIMIT));
  CHECK(is(code::invalid_log_page, NVME_SC_INVALID_LOG_PAGE));
  CHECK(is(code::invalid_format, NVME_SC_INVALID_FORMAT));
  CHECK(is(code::feature_not_saveable, NVME_SC_FEATURE_NOT_SAVEABLE));
  CHECK(is(code::feature_not_changeable, NVME_SC_FEATURE_NOT_CHANGEABLE));
  CHECK(is(code::feature_not_namespace_specific, NVME_SC_FEATURE_NOT_PER_NS));
  CHECK(is(code::insufficient_namespace_capacity, NVME_SC_NS_INSUFFICIENT_CAP));
  CHECK(is(code::namespace_id_unavailable, NVME_SC_NS_ID_UNAVAILABLE));
  CHECK(is(code::invalid_controller_id, NVME_SC_INVALID_CTRL_ID));
  CHECK(is(code::conflicting_attributes, NVME_SC_BAD_ATTRIBUTES));
  CHECK(is(code::invalid_protection_information, NVME_SC_INVALID_PI));
  CHECK(is(code::write_to_read_only_range, NVME_SC_READ_ONLY));
  CHECK(is(code::command_size_limit_exceeded, NVME_SC_CMD_SIZE_LIMIT_EXCEEDED));
}

TEST_CASE("media, path and Fabrics status codes are libnvme's") {
  CHECK(is(nvme::media_status::write_fault, NVME_SC_WRITE_FAULT));
  CHECK(is(nvme::media_status::unrecovered_read_error, NVME_SC_READ_ERROR));
  CHECK(is(nvme::media_status::guard_check_error, NVME_SC_GUARD_CHECK));
  CHECK(is(nvme::media_status::application_tag_check_error, NVME_SC_APPTAG_CHECK));
  CHECK(is(nvme::media_status::reference_tag_check_error, NVME_SC_REFTAG_CHECK));
  CHECK(is(nvme::media_status::compare_failure, NVME_SC_COMPARE_FAILED));
  CHECK(is(nvme::media_status::access_denied, NVME_SC_ACCESS_DENIED));
  CHECK(is(nvme::media_status::unwritten_block, NVME_SC_UNWRITTEN_BLOCK));
  CHECK(is(nvme::path_status::internal_path_error, NVME_SC_ANA_INTERNAL_PATH_ERROR));
  CHECK(is(nvme::path_status::controller_pathing_error, NVME_SC_CTRL_PATH_ERROR));
  CHECK(is(nvme::path_status::host_pathing_error, NVME_SC_HOST_PATH_ERROR));
  CHECK(is(nvme::path_status::command_aborted_by_host, NVME_SC_CMD_ABORTED_BY_HOST));
  CHECK(is(fabrics::connect_status::incompatible_format, NVME_SC_CONNECT_FORMAT));
  CHECK(is(fabrics::connect_status::controller_busy, NVME_SC_CONNECT_CTRL_BUSY));
  CHECK(is(fabrics::connect_status::invalid_parameters, NVME_SC_CONNECT_INVALID_PARAM));
  CHECK(is(fabrics::connect_status::restart_discovery, NVME_SC_CONNECT_RESTART_DISC));
  CHECK(is(fabrics::connect_status::invalid_host, NVME_SC_CONNECT_INVALID_HOST));
  CHECK(is(fabrics::connect_status::invalid_queue_type, NVME_SC_DISCONNECT_INVALID_QTYPE));
  CHECK(is(fabrics::connect_status::discover_restart, NVME_SC_DISCOVERY_RESTART));
  CHECK(is(fabrics::connect_status::authentication_required, NVME_SC_AUTH_REQUIRED));
}

TEST_CASE("properties lie at libnvme's register offsets") {
  CHECK(is(fabrics::property_offset::capabilities, NVME_REG_CAP));
  CHECK(is(fabrics::property_offset::version, NVME_REG_VS));
  CHECK(is(fabrics::property_offset::configuration, NVME_REG_CC));
  CHECK(is(fabrics::property_offset::status, NVME_REG_CSTS));
  CHECK(is(fabrics::property_offset::subsystem_reset, NVME_REG_NSSR));
}

TEST_CASE("every status field, without its phase tag, is libnvme's status") {
  for (unsigned type = 0; type < 8; ++type) {
    for (unsigned code = 0; code < 256; ++code) {
      for (const bool dnr : {false, true}) {
        const std::uint16_t field = nvme::make_status(static_cast<std::uint8_t>(type),
                                                      static_cast<std::uint8_t>(code), dnr);
        const unsigned theirs = type << NVME_SCT_SHIFT | code | (dnr ? unsigned{NVME_SC_DNR} : 0);
        REQUIRE((field >> 1) == theirs);
        REQUIRE((field & 1) == 0);
        REQUIRE(nvme::status_type(field) == type);
        REQUIRE(nvme::status_code(field) == code);
        REQUIRE(nvme::status_dnr(field) == dnr);
        REQUIRE(nvme::with_phase(field, true) == field + 1);
        REQUIRE(nvme::with_phase(nvme::with_phase(field, true), false) == field);
        REQUIRE(nvme::status_code(nvme::with_phase(field, true)) == code);
      }
    }
  }
}

TEST_CASE("a typed status code brings its type along") {
  CHECK(nvme::make_status(nvme::generic_status::success) == 0);
  CHECK((nvme::make_status(nvme::generic_status::lba_out_of_range) >> 1) == NVME_SC_LBA_RANGE);
  CHECK(nvme::status_type(nvme::make_status(nvme::command_status::invalid_format)) ==
        NVME_SCT_CMD_SPECIFIC);
  CHECK(nvme::status_type(nvme::make_status(nvme::media_status::write_fault)) == NVME_SCT_MEDIA);
  CHECK(nvme::status_type(nvme::make_status(nvme::path_status::host_pathing_error)) ==
        NVME_SCT_PATH);
  CHECK(nvme::status_type(fabrics::make_status(fabrics::connect_status::invalid_host)) ==
        NVME_SCT_CMD_SPECIFIC);
}

}  // namespace
