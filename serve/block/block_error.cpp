#include "block_error.hpp"

#include <control/own_status.hpp>

namespace gnstor::serve {

block_error block_error_of(status s) {
  using own = wire::afa::status;
  if (s.ok()) return block_error::none;
  if (host::is_own(s, own::not_permitted)) return block_error::not_permitted;
  if (host::is_own(s, own::mapping_full)) return block_error::no_space;
  if (host::is_own(s, own::unknown_volume)) return block_error::gone;
  return block_error::failed;
}

}  // namespace gnstor::serve
