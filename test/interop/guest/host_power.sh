#!/bin/sh
# One life of a machine that exports a volume on its disk by NBD: what its former lives flushed is
# there. Then two writers write until the power goes; in the last life, nobody.
. /lab/guest.sh
disk=/dev/vda
device=/dev/nbd0
half=320 # blocks of each writer
modprobe -a nbd xfs virtio_blk
mkdir -p /flash
within 10 test -b $disk

step "life $LIFE"
[ "$LIFE" != 1 ] || must mkfs.xfs -q -f $disk
must mount $disk /flash || ends
# Volumes hold most of the flash: garbage is collected all the time.
nbdkit -f -U /tmp/nbd.sock --threads 16 /lab/gnstor-plugin.so \
  "endpoint=emu:?ssds=2&capacity=4M&replicas=2&flash=/flash$MORE" volume=disk create=2560K \
  > /tmp/nbdkit 2>&1 &
within 20 test -S /tmp/nbd.sock
must nbd-client -unix /tmp/nbd.sock $device -b 4096 -C 2 -t 20
within 10 test "$(cat /sys/block/nbd0/size)" -gt 0
# writer NUMBER OPTION...
writer() {
  number=$1
  shift
  interop_stamps --device $device --log "/share/log.$number" --writer "$number" \
    --first $((number * half)) --blocks $half "$@"
}
for one in 0 1; do must writer $one --check; done
cat /tmp/nbdkit
if [ "$LIFE" = last ]; then
  must nbd-client -d $device
  ends
fi
[ $failures = 0 ] || ends
writer 0 &
writer 1
failed "a writer has ended"
ends
