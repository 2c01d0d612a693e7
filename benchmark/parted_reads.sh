#!/bin/sh
# In a guest of the interop lab: reads of 1 MiB, one at a time, by Linux's host over soft-RoCE from
# a volume whose flash is paced at gmblock's rate: what a read takes where its data leaves part by
# part, and where it leaves as a whole, in turns.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
count=${COUNT:-128}
start_rdma $address
start_host
hundredths() { cut -d " " -f 1 /proc/uptime | tr -d .; }

# read_all HOW: every byte of the volume, once.
read_all() {
  serve $address:$port --array "emu:?ssds=1&replicas=1&capacity=256M&timing=gmblock&threads=2" \
    --volume 128M --max-transfer 1M --send "$1"
  plug $volume_nqn.1
  disk=$(block_device $volume_nqn.1 1)
  must dd if=/tmp/pattern of="$disk" bs=1M count="$count" oflag=direct status=none
  echo 3 > /proc/sys/vm/drop_caches
  begun=$(hundredths)
  must dd if="$disk" of=/dev/null bs=1M count="$count" iflag=direct status=none
  ended=$(hundredths)
  must cmp -n $((count * 1048576)) /tmp/pattern "$disk"
  most=$(cat /sys/block/"${disk##*/}"/queue/max_sectors_kb)
  echo "$1: $(((ended - begun) * 10000 / count)) us a read of 1 MiB, $most KiB a command at most"
  nvme disconnect -n $volume_nqn.1 > /dev/null
  stop_serving
}
head -c $((count * 1048576)) /dev/urandom > /tmp/pattern
for round in 1 2 3; do
  echo "round $round"
  read_all stored
  read_all synchronised
done
ends
