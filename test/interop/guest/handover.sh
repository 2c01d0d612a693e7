#!/bin/sh
# The kernel's host at a volume whose writer changes: it learns of that by events.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
start_rdma $address
start_host
serve $address:4420 --array 'emu:?ssds=4&capacity=128M' --volume 16M \
  --reassign 1=nqn.2026-11.io.gnstor:host:alice
# disk_is READ_ONLY: what the kernel holds the volume's disk for.
disk_is() { [ "$(cat "/sys/block/$(basename "$volume")/ro")" = "$1" ]; }
write_one() { dd if=/dev/urandom of="$volume" bs=4k count=1 oflag=direct; }

step "between gnstor's hosts"
must interop_handover own --address $address --image /tmp/image
expected=$(sha256sum < /tmp/image | cut -d' ' -f1)

step "while bob may write, the kernel's host only reads"
plug $volume_nqn.1
volume=$(block_device $volume_nqn.1 1)
must disk_is 1
same "what alice and bob wrote" "$expected" "$(sum_of "$volume" 1)"
refuses "" write_one
refuses "Reservation Conflict" nvme write-zeroes "$volume" -n 1 -s 0 -c 0
same "the volume afterwards" "$expected" "$(sum_of "$volume" 1)"

step "bob ends, and an event tells the kernel's host that it may write"
must interop_handover release --address $address
within 10 disk_is 0
must write_one

step "while the kernel's host may write, alice may not"
must interop_handover refused --address $address
must nvme disconnect -n $volume_nqn.1
stop_serving
ends
