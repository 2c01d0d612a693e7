#!/bin/sh
# Kernels of gnstor, run by the host executor, against the kernel's target: every byte is compared
# with what the block devices behind it hold.
. /lab/guest.sh
nqn=nqn.2026-11.test:disk
address=10.1.0.1
client() { interop_client --address $address --nqn $nqn "$@"; }

step "a target with 512-byte and 4096-byte blocks"
start_rdma $address
start_target
export_subsystem $nqn
ram_disk small 96 512
small=$disk
export_namespace $nqn 1 "$small"
ram_disk large 96 4096
large=$disk
export_namespace $nqn 3 "$large"
open_port $address 4420 $nqn

step "discovery and identify"
says "^rdma $address:4420 $nqn" interop_client --address $address discover
says "^namespace 1: 196608 blocks of 512 bytes" client identify --queues 2
says "^namespace 3: 24576 blocks of 4096 bytes" client identify --queues 2

step "one queue, 512-byte blocks"
says "on 1 queues, at most 32 in flight, all bytes right" \
  client traffic --nsid 1 --image /tmp/image --seed 1
same "namespace 1" "$(sha256sum < /tmp/image | cut -d' ' -f1)" "$(sum_of "$small" 64)"

step "four queues, 4096-byte blocks"
says "on 4 queues, at most 128 in flight, all bytes right" \
  client traffic --nsid 3 --queues 4 --image /tmp/image --seed 2
same "namespace 3" "$(sha256sum < /tmp/image | cut -d' ' -f1)" "$(sum_of "$large" 64)"

step "the kernel's host sees the same"
start_host
must nvme connect -t rdma -a $address -s 4420 -n $nqn -i 1
within 10 block_device $nqn 3
same "over the network" "$(sha256sum < /tmp/image | cut -d' ' -f1)" \
  "$(sum_of "$(block_device $nqn 3)" 64)"
must nvme disconnect -n $nqn
ends
