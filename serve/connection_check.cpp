#include "connection_check.hpp"

#include <cstring>

namespace gnstor::serve {

connection_check connection_check::of(std::span<const unsigned char> data,
                                      const target_limits& limits) {
  using wire::fabrics::reject_reason;
  connection_check c;
  if (data.size() < sizeof c.request) {
    c.rejected = reject_reason::invalid_length;
    return c;
  }
  std::memcpy(&c.request, data.data(), sizeof c.request);
  c.entries = c.request.hsqsize + 1u;
  if (c.request.recfmt != 0) {
    c.rejected = reject_reason::invalid_record_format;
  } else if (c.request.qid > limits.io_queues) {
    c.rejected = reject_reason::invalid_queue_id;
  } else if (c.request.hsqsize == 0 || c.entries > limits.queue_entries) {
    c.rejected = reject_reason::invalid_host_send_queue_size;
  } else if (c.request.hrqsize == 0) {
    c.rejected = reject_reason::invalid_host_receive_queue_size;
  }
  return c;
}

}  // namespace gnstor::serve
