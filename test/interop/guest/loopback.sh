#!/bin/sh
# The test fabrics.loopback, which a machine without RDMA skips but for its first cases.
. /lab/guest.sh
loopback() { test_fabrics "--source-file=*/test/fabrics/loopback.*"; }
missing="a machine without RDMA says so, and what to do"

step "without RDMA"
says "^skipped case: both ends learn each other's private data" loopback
same "cases skipped that need none" 0 "$(grep -c "^skipped case: $missing" /tmp/said)"

step "over soft-RoCE"
start_rdma 10.1.0.1
export GNSTOR_TEST_RDMA=10.1.0.1
says "^skipped case: $missing" loopback
same "cases skipped" 1 "$(grep -c '^skipped case' /tmp/said)"
grep "test cases:" /tmp/said
ends
