// A warp's own channel over words that lanes share would pay for what it does without.
// expect: owned_queue
#include <gnstor/channel/exclusive_channel.hpp>

using refused = gnstor::exclusive_channel<gnstor::mlx5_queue_pair<>>;
std::size_t size = sizeof(refused);
