#!/bin/sh
# The other end: gnstor's client against the kernel's target, the kernel's host against
# gnstor-target.
. /lab/guest.sh
. /lab/target.sh
address=10.9.0.1
start_rdma 10.9.0.2 eth0
lose_packets
start_host
within 120 nc -w 2 $address 7000

step "gnstor's client, the kernel's target"
says "all bytes right" interop_client traffic --address $address --nqn nqn.2026-11.test:disk \
  --mib 1 --queues 2

step "gnstor's client, gnstor-target"
says "all bytes right" interop_client traffic --address $address --port 4421 \
  --nqn $volume_nqn.1 --mib 1

step "the kernel's host, gnstor-target"
port=4421
plug $volume_nqn.1
device=$(block_device $volume_nqn.1 1)
must mkfs.xfs -q -f "$device"
head -c 1048576 /dev/urandom > /tmp/a
must dd if=/tmp/a of="$device" bs=64k oflag=direct 2>/dev/null
same "written and read" "$(sha256sum < /tmp/a | cut -d' ' -f1)" "$(sum_of "$device" 1)"
must nvme disconnect -n $volume_nqn.1

count_lost
verdict=passed
[ $failures = 0 ] || verdict=failed
echo $verdict | nc -w 5 $address 7001
ends
