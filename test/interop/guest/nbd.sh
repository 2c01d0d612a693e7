#!/bin/sh
# Linux's NBD client and XFS on a volume that nbdkit exports. The server is killed under a writing
# file system: after its restart it mounts (log replay), xfs_repair finds nothing, and every file
# that was fsynced is there. Then gnstor-target serves the same volume: the same bytes by NVMe-oF.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
device=/dev/nbd0
array="emu:?ssds=4&capacity=192M&replicas=2&flash=/flash"
modprobe -a nbd xfs
mkdir /flash /files
start_rdma $address
start_host

serve_nbd() {
  nbdkit -f -U /tmp/nbd.sock --threads 16 /lab/gnstor-plugin.so "endpoint=$array" volume=disk \
    create=320M > /tmp/nbdkit 2>&1 &
  serving=$!
  within 20 test -S /tmp/nbd.sock
  must nbd-client -unix /tmp/nbd.sock $device -b 4096 -C 2 -t 10 # seconds of a request
  within 10 test "$(cat /sys/block/nbd0/size)" -gt 0
}
# A file of random bytes that is on the disk when this returns.
write_file() {
  head -c "$2" /dev/urandom > "/tmp/$1" && cp "/tmp/$1" "/files/$1" && fsync "/files/$1"
}
fsync() { dd if=/dev/null of="$1" oflag=append conv=notrunc,fsync 2> /dev/null; }

step "a file system over NBD"
serve_nbd
must mkfs.xfs -q -f $device
must mount $device /files

kills=0
while [ $kills -lt "$KILLS" ]; do
  kills=$((kills + 1))
  step "kill $kills of $KILLS"
  files=
  for k in 1 2 3 4; do
    must write_file "$kills.$k" $((k * 300000 + kills))
    files="$files $kills.$k"
  done
  # More is being written, without an fsync, when the server dies.
  (while head -c 200000 /dev/urandom > /files/more 2> /dev/null; do :; done) &
  writer=$!
  sleep 0.$((kills % 5 + 1))
  kill -9 $serving
  wait $serving
  kill $writer 2> /dev/null
  wait $writer 2> /dev/null
  xfs_io -x -c shutdown /files # or it tries for half a minute
  umount /files || umount -l /files
  nbd-client -d $device
  rm -f /tmp/nbd.sock
  serve_nbd
  must mount $device /files
  for one in $files; do must cmp "/tmp/$one" "/files/$one"; done
  must umount /files
  must xfs_repair -n $device > /tmp/repair 2>&1 || tail -5 /tmp/repair
  must mount $device /files
  rm -f /files/more
done

step "the same volume by NVMe-oF"
must umount /files
sum() { dd if="$1" bs=1M iflag=direct 2> /dev/null | sha256sum | cut -d' ' -f1; }
by_nbd=$(sum $device)
must nbd-client -d $device
kill $serving
wait $serving || failed "nbdkit ended with $?"
serve $address:4420 --array "$array"
plug $volume_nqn.1
disk=$(block_device $volume_nqn.1 1)
same "the volume" "$by_nbd" "$(sum "$disk")"
must mount "$disk" /files
for one in $files; do must cmp "/tmp/$one" "/files/$one"; done
must umount /files
must nvme disconnect -n $volume_nqn.1
stop_serving
ends
