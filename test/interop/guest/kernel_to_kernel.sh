#!/bin/sh
# The kernel's own host and target over soft-RoCE.
. /lab/guest.sh
nqn=nqn.2026-11.test:disk
step "a target with 512-byte and 4096-byte blocks"
start_rdma 10.1.0.1
start_target
export_subsystem $nqn
ram_disk small 64 512
export_namespace $nqn 1 "$disk"
ram_disk large 384 4096
export_namespace $nqn 2 "$disk"
open_port 10.1.0.1 4420 $nqn

step "the kernel's host"
start_host
says "subnqn: +$nqn" nvme discover -t rdma -a 10.1.0.1 -s 4420
must nvme connect -t rdma -a 10.1.0.1 -s 4420 -n $nqn -i 2
within 10 block_device $nqn 1
within 10 block_device $nqn 2
head -c 4194304 /dev/urandom > /tmp/pattern
for nsid in 1 2; do
  device=$(block_device $nqn $nsid)
  must dd if=/tmp/pattern of="$device" bs=128k oflag=direct 2>/dev/null
  same "namespace $nsid" "$(sha256sum < /tmp/pattern | cut -d' ' -f1)" "$(sum_of "$device" 4)"
done
files_on "$(block_device $nqn 2)"
must nvme disconnect -n $nqn
ends
