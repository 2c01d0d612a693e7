#pragma once
/// Every parser that meets bytes of somebody else's.

#include "admin_payload.hpp"
#include "array_reply.hpp"
#include "capsule.hpp"
#include "completion.hpp"
#include "discover.hpp"
#include "flash_image.hpp"
#include "target_capsule.hpp"
#include "target_reply.hpp"
#include "wqe.hpp"

namespace gnstor::test {

struct fuzzed_parser {
  const char* name;
  void (*run)(fuzz_input);
  std::vector<std::vector<std::uint8_t>> (*seeds)();  ///< sound inputs; null: none
};

inline constexpr fuzzed_parser fuzzed_parsers[] = {
    {"wqe", fuzz_wqe, nullptr},
    {"capsule", fuzz_capsule, capsule_seeds},
    {"admin_payload", fuzz_admin_payload, admin_payload_seeds},
    {"flash_image", fuzz_flash_image, nullptr},
    {"target_capsule", fuzz_target_capsule, target_capsule_seeds},
    {"array_reply", fuzz_array_reply, array_reply_seeds},
    {"target_reply", fuzz_target_reply, target_reply_seeds},
    {"completion", fuzz_completion, completion_seeds},
    {"discover", fuzz_discover, discover_seeds},
};

}  // namespace gnstor::test
