#!/bin/sh
# A volume of a managed array is written by NBD, then by NVMe-oF, then by a kernel's view[i]. Each
# time the other two read the same bytes, and may not write.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
manager='gnstor://127.0.0.1?keep_alive_ms=10000'  # the guest is slow
mib=4
start_rdma $address
start_host
modprobe nbd
serve $address:4420 --array 'emu:?ssds=4&capacity=64M&replicas=2' --manage --ssd-timeout 20000
must gnstorctl volume create disk --size ${mib}M
for one in door viewer; do must gnstorctl volume share disk $one; done
offered() { nvme discover -t rdma -a $address -s 4420 | grep -q "$volume_nqn.1\$"; }
within 10 offered # the target looks for new volumes every second
released() { ! gnstorctl lease list | grep -q disk; }

nbd=/dev/nbd0
open_nbd() {
  rm -f /tmp/nbd.sock
  nbdkit -f -U /tmp/nbd.sock --threads 8 /lab/gnstor-plugin.so "endpoint=$manager" volume=disk \
    host-name=door > /tmp/nbdkit 2>&1 &
  door=$!
  within 20 test -S /tmp/nbd.sock
  must nbd-client -unix /tmp/nbd.sock $nbd -b 4096 -t 20 > /tmp/client 2>&1
  within 10 test "$(cat /sys/block/nbd0/size)" = $((mib * 2048))
}
close_nbd() {
  must nbd-client -d $nbd
  kill $door
  wait $door || failed "nbdkit ended with $?"
}
open_nvme() {
  plug $volume_nqn.1
  disk=$(block_device $volume_nqn.1 1)
}
close_nvme() { must nvme disconnect -n $volume_nqn.1; }
by_view() { interop_viewed read --endpoint "$manager" --volume disk | sha256sum | cut -d' ' -f1; }
# write DEVICE: new bytes everywhere; their sum is in now_sum.
write() {
  head -c $((mib << 20)) /dev/urandom > /tmp/image
  must dd if=/tmp/image of="$1" bs=128k oflag=direct conv=fsync 2> /dev/null
  now_sum=$(sha256sum < /tmp/image | cut -d' ' -f1)
}
# The doors of those who do not write now.
nbd_reads() {
  same "by NBD" "$now_sum" "$(sum_of $nbd $mib)"
  same "its device is read-only" 1 "$(cat /sys/block/nbd0/ro)"
  refuses "" dd if=/tmp/other of=$nbd bs=64k count=1 oflag=direct
}
nvme_reads() {
  same "by NVMe-oF" "$now_sum" "$(sum_of "$disk" $mib)"
  refuses "" dd if=/tmp/other of="$disk" bs=64k count=1 oflag=direct
}
view_reads() {
  same "by view[i]" "$now_sum" "$(by_view)"
  refuses "read-only: another host writes" interop_viewed write --endpoint "$manager" --volume disk
}
head -c 65536 /dev/urandom > /tmp/other

step "NBD writes"
open_nbd
write $nbd
same "by NBD" "$now_sum" "$(sum_of $nbd $mib)"
open_nvme
nvme_reads
view_reads
close_nvme
close_nbd
within 10 released

step "NVMe-oF writes"
open_nvme
write "$disk"
same "by NVMe-oF" "$now_sum" "$(sum_of "$disk" $mib)"
open_nbd
nbd_reads
view_reads
close_nbd
close_nvme
within 10 released

step "view[i] writes"
interop_viewed write --endpoint "$manager" --volume disk --until /tmp/enough > /tmp/view 2>&1 &
viewer=$!
within 60 grep -q written /tmp/view
before=$now_sum
now_sum=$(by_view)
[ "$now_sum" != "$before" ] || failed "it has written nothing"
open_nbd
nbd_reads
close_nbd
open_nvme
nvme_reads
close_nvme
: > /tmp/enough
wait $viewer || failed "the kernel's host: $(cat /tmp/view)"
within 10 released

step "and each alone, one after another"
open_nbd
same "by NBD" "$now_sum" "$(sum_of $nbd $mib)"
close_nbd
open_nvme
same "by NVMe-oF" "$now_sum" "$(sum_of "$disk" $mib)"
close_nvme
same "by view[i]" "$now_sum" "$(by_view)"
kill "$serving"
wait "$serving" || failed "gnstor-target ended with $?"
ends
