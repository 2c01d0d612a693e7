#!/bin/sh
# Files of an XFS and of an ext2 that Linux has mounted by a loop device, whose image an emulated
# NVMe controller serves at the same time.
. /lab/guest.sh
. /lab/files.sh
modprobe -a loop xfs ext4
mkdir -p /mnt /tmp/image
mount -t tmpfs -o size=1400m tmpfs /tmp/image

for kind in xfs xfs512 ext2; do
  step "$kind"
  rm -f /tmp/image/*
  truncate -s 400M /tmp/image/disk
  loop=$(losetup -f)
  must losetup "$loop" /tmp/image/disk
  case $kind in
    xfs) must mkfs.xfs -q -f "$loop" ;;
    xfs512) must mkfs.xfs -q -f -b size=512 -m crc=0 "$loop" ;;
    ext2) must mke2fs -q "$loop" ;;
  esac
  must mount "$loop" /mnt
  fill_files /mnt/data
  disk="emu-nvme:?bytes=400M&lba=512&media=file&file=/tmp/image/disk"
  says "device: 66 files" interop_mounted iterate --endpoint "$disk" --folder /mnt/data
  grep " commands" /tmp/said
  says "$ROUNDS files changed under kernels" \
    interop_mounted change --endpoint "$disk" --folder /mnt --rounds "$ROUNDS"
  grep "^said" /tmp/said
  truncate -s 400M /tmp/image/other
  refuses "namespace 1 is another disk than loop" interop_mounted iterate --folder /mnt/data \
    --endpoint "emu-nvme:?bytes=400M&lba=512&media=file&file=/tmp/image/other"
  must umount /mnt
  must losetup -d "$loop"
done

step "what is no disk's"
refuses "moves data by itself, or has no device" \
  interop_mounted iterate --endpoint "emu-nvme:?bytes=1M" --folder /lab
ends
