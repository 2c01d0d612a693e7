// A channel over something that is no transport is refused by the name of the concept.
// expect: satisfaction of .queue_pair<|not satisfy .queue_pair.
#include <gnstor/channel/channel.hpp>

struct not_a_queue_pair {};

gnstor::channel<not_a_queue_pair>* refused = nullptr;
