#!/bin/sh
# Linux on the physical function, user space on the virtual ones: see virtual_functions.test.
. /lab/guest.sh
. /lab/files.sh
modprobe -a nvme xfs vfio_iommu_type1 vfio-pci
within 20 test -b /dev/nvme0n1
within 20 test -b /dev/nvme0n2
physical=$(basename "$(readlink /sys/class/nvme/nvme0/device)")
functions=/sys/bus/pci/devices/$physical

step "four virtual functions of $physical, with four I/O queues each"
echo 0 > "$functions/sriov_drivers_autoprobe"
must nvme list-secondary /dev/nvme0 -e 4 > /tmp/secondary
echo 4 > "$functions/sriov_numvfs" || failed "sriov_numvfs"
for k in 1 2 3 4; do
  must nvme virt-mgmt /dev/nvme0 -c $k -r 0 -n 5 -a 8 > /dev/null
  must nvme virt-mgmt /dev/nvme0 -c $k -r 1 -n 1 -a 8 > /dev/null
  must nvme virt-mgmt /dev/nvme0 -c $k -r 0 -n 0 -a 9 > /dev/null
done
# function K: the address of the virtual function.
function_() { basename "$(readlink "$functions/virtfn$1")"; }
for k in 0 1 2 3; do must gnstorctl local bind "$(function_ $k)" --driver vfio-pci; done
gnstorctl local list

step "Linux mounts the physical function's namespace"
must mkfs.xfs -q -f /dev/nvme0n1
mkdir -p /mnt
must mount /dev/nvme0n1 /mnt
fill_files /mnt/data
refuses "is mounted on /mnt" gnstorctl local bind "$physical" --driver vfio-pci

step "two processes read its files at once, by functions of their own"
interop_mounted iterate --endpoint "nvme://$(function_ 0)?nsid=1" --folder /mnt/data > /tmp/a 2>&1 &
first=$!
interop_mounted iterate --endpoint "nvme://$(function_ 1)?nsid=1" --folder /mnt/data > /tmp/b 2>&1 &
second=$!
wait $first || failed "the first: $(cat /tmp/a)"
wait $second || failed "the second: $(cat /tmp/b)"
must grep "^device: 66 files" /tmp/a
must grep "^device: 66 files" /tmp/b
says "5 files changed under kernels" \
  interop_mounted change --endpoint "nvme://$(function_ 2)?nsid=1" --folder /mnt --rounds 5

step "one is killed $KILLS times while another one reads and Linux writes"
k=0
while [ $k -lt "$KILLS" ]; do
  interop_local_nvme outlive --endpoint "nvme://$(function_ 3)?nsid=2" --nsid 2 --mib 4 \
    > /tmp/killed 2>&1 &
  killed=$!
  within 20 grep -q reading /tmp/killed
  interop_mounted iterate --endpoint "nvme://$(function_ 0)?nsid=1" --folder /mnt/data \
    > /tmp/a 2>&1 &
  first=$!
  dd if=/tmp/random of=/mnt/more bs=64k conv=fsync 2> /dev/null
  kill -9 $killed || failed "it had ended: $(cat /tmp/killed)"
  wait $first || failed "beside a process that was killed: $(cat /tmp/a)"
  wait $killed
  must cmp /tmp/random /mnt/more
  k=$((k + 1))
done
says "all bytes right" interop_local_nvme write --endpoint "nvme://$(function_ 3)?nsid=2" --nsid 2 \
  --mib 4

step "a daemon lends the queues of one function to processes; one is killed $KILLS times"
gnstor-homid --controller "nvme://$(function_ 1)" --name /tmp/homi --queues 2 > /tmp/homid 2>&1 &
daemon=$!
within 20 grep -q ready: /tmp/homid
interop_mounted iterate --endpoint "homi:/tmp/homi?nsid=1" --folder /mnt/data > /tmp/a 2>&1 &
first=$!
k=0
while [ $k -lt "$KILLS" ]; do
  interop_local_nvme outlive --endpoint "homi:/tmp/homi?nsid=2" --nsid 2 --mib 4 --warps 1 \
    > /tmp/killed 2>&1 &
  killed=$!
  within 20 grep -q reading /tmp/killed
  says "interop_local_nvme +$killed" gnstorctl local clients /tmp/homi
  kill -9 $killed || failed "it had ended: $(cat /tmp/killed)"
  wait $killed
  if ! kill -0 $first 2> /dev/null; then
    wait $first || failed "beside a process that was killed: $(cat /tmp/a)"
    interop_mounted iterate --endpoint "homi:/tmp/homi?nsid=1" --folder /mnt/data > /tmp/a 2>&1 &
    first=$!
  fi
  k=$((k + 1))
done
wait $first || failed "beside a process that was killed: $(cat /tmp/a)"
must grep "^device: 66 files" /tmp/a
says "all bytes right" interop_local_nvme write --endpoint "homi:/tmp/homi?nsid=2" --nsid 2 \
  --mib 4 --warps 1
kill $daemon
wait $daemon || failed "gnstor-homid: $(cat /tmp/homid)"
tail -3 /tmp/homid
dmesg | grep -E "DMAR:.*fault addr" && failed "a function reached what it was not given"

step "all is given back"
for k in 0 1 2 3; do
  echo > "$functions/virtfn$k/driver_override"
  echo "$(function_ $k)" > /sys/bus/pci/drivers/vfio-pci/unbind
done
must umount /mnt
echo 0 > "$functions/sriov_numvfs"
must xfs_repair -n /dev/nvme0n1 > /tmp/repair 2>&1 || tail -3 /tmp/repair
ends
