// A channel is rung as a type with the constants of a policy says, not by any type.
// expect: doorbell_policy
#include <gnstor/channel/mlx5_channel.hpp>

struct not_a_policy {
  static constexpr bool each_lane = false;
};

gnstor::channel<gnstor::mlx5_queue_pair<>, not_a_policy>* refused = nullptr;
