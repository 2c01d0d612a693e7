#pragma once
/// A count that a file descriptor shows: readable while it is not zero.

namespace gnstor::test::rdma_model {

int make_counter();
void add_one(int fd);
/// False: it is zero.
bool take_one(int fd);
/// Waits as long as it is zero, unless the descriptor was made one that does not block.
bool wait_for_one(int fd);

/// Ends the process: the program has done what a device would not survive.
[[noreturn]] void misused(const char* what);

}  // namespace gnstor::test::rdma_model
