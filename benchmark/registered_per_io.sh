#!/bin/sh
# In a guest of the interop lab: the benchmark against the kernel's target, over soft-RoCE. The JSON
# goes to /share.
. /lab/guest.sh
address=10.1.0.1
nqn=nqn.2026-11.test:disk
start_rdma $address
start_target
export_subsystem $nqn
ram_disk disk 64 4096
export_namespace $nqn 1 "$disk"
open_port $address 4420 $nqn
export GNSTOR_BENCH_ENDPOINT="rdma://$address/$nqn?scratch=yes&transport=proxy"
must registered_per_io "$@" --benchmark_out=/share/result.json --benchmark_out_format=json
ends
