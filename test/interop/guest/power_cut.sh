#!/bin/sh
# The machine of a gnstor-target loses its power after a host's fsync: the file system below the
# flash files forgets what was not written to its disk. What was flushed is there afterwards.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
array="emu:?ssds=2&capacity=64M&replicas=2&flash=/flash$MORE"
modprobe -a null_blk xfs
modprobe null_blk nr_devices=0
mount -t configfs configfs /sys/kernel/config 2>/dev/null
mkdir /flash
start_rdma $address
start_host

step "a target on a disk"
ram_disk flash 400 512
must mkfs.xfs -q -f "$disk"
must mount "$disk" /flash
serve $address:4420 --array "$array" --volume 32M
plug $volume_nqn.1
device=$(block_device $volume_nqn.1 1)
says "write back" cat "/sys/block/$(basename "$device")/queue/write_cache"

step "written and flushed; then more, only acknowledged"
head -c 4194304 /dev/urandom > /tmp/kept
must dd if=/tmp/kept of="$device" bs=128k oflag=direct conv=fsync 2>/dev/null
must dd if=/tmp/kept of="$device" bs=128k seek=64 count=8 oflag=direct 2>/dev/null

step "the power goes"
kill -9 "$serving"
wait "$serving"
must xfs_io -x -c shutdown /flash
nvme disconnect -n $volume_nqn.1
must umount /flash

step "and comes again"
must mount "$disk" /flash
serve $address:4420 --array "$array"
plug $volume_nqn.1
device=$(block_device $volume_nqn.1 1)
same "what was flushed" "$(sha256sum < /tmp/kept | cut -d' ' -f1)" "$(sum_of "$device" 4)"
must nvme disconnect -n $volume_nqn.1
stop_serving

# cut_under NAME OPTION...: power goes while kernels write and flush an endpoint's blocks; it comes
# again with what the disk has.
cut_under() {
  rm -f /tmp/flushed
  interop_flushed write --endpoint "$endpoint" --log /tmp/flushed "$@" > /tmp/writes 2>&1 &
  writing=$!
  within 60 enough_rounds
  must xfs_io -x -c shutdown /flash
  kill -9 $writing
  wait $writing
  must umount /flash
  must mount "$disk" /flash
}
enough_rounds() { [ "$(wc -l < /tmp/flushed)" -ge 20 ]; }
check() { interop_flushed check --endpoint "$endpoint" --log /tmp/flushed; }
new_image() {
  rm -f /flash/image
  must truncate -s 16M /flash/image
}

step "a local controller over a file"
endpoint="emu-nvme:?bytes=16M&media=file&file=/flash/blocks"
must interop_flushed write --endpoint "$endpoint" --log /tmp/flushed --rounds 1
cut_under
says "rounds were flushed" check

step "a file through Linux"
endpoint="disk:/flash/image"
new_image
must sync
cut_under
says "rounds were flushed" check

step "what was only acknowledged is not there"
new_image
must sync
cut_under --lie
refuses "is not there" check
must umount /flash
ends
