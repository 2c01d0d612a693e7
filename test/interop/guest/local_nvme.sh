#!/bin/sh
# NVMe controllers of the bus, driven by gnstor's kernels: Linux writes and reads before and
# afterwards. WAY: bus (resource0 and huge pages) or vfio.
. /lab/guest.sh
. /lab/local.sh
modprobe -a nvme xfs
within 20 disk_of LAB0 2
within 20 disk_of LAB2 1
first=$(address_of LAB0)
second=$(address_of LAB1)
third=$(address_of LAB2)

step "Linux writes: $first, $second, $third"
head -c 16777216 /dev/urandom > /tmp/small
head -c 16777216 /dev/urandom > /tmp/large
must dd if=/tmp/small of="$(disk_of LAB0 1)" bs=1M oflag=direct 2>/dev/null
must dd if=/tmp/large of="$(disk_of LAB0 2)" bs=1M oflag=direct 2>/dev/null
gnstorctl local list

step "what is in use is refused, and left alone"
refuses "nvme has it: gnstorctl local bind $first" gnstor dump "$first?path=device"
refuses "path=relay|nvme has it" gnstor dump "$first?path=relay"
refuses "no such PCI function" gnstorctl local bind 0000:77:00.0
refuses "expected DOMAIN" gnstorctl local bind 77
refuses "no NVMe controller" gnstorctl local bind 0000:00:1f.0
mkdir -p /mnt
refuses "nvme has it: gnstorctl local bind $second" gnstor dump "$second,$third?path=device"
refuses "$second is given twice" gnstor dump "$second,$third,$second"
must mkfs.xfs -q -f "$(disk_of LAB2 1)"
must mount "$(disk_of LAB2 1)" /mnt
refuses "is mounted on /mnt: unmount or close it first; nothing was changed" \
  gnstorctl local bind "$third" --driver $driver
refuses "/dev/.* is mounted on /mnt" gnstor dump "$third?path=device"

step "through Linux, whose driver keeps them"
says "through Linux: its driver nvme has it" gnstor dump "$first" --mib 16 --image /tmp/read
same "512-byte blocks" "$(sum /tmp/small)" "$(sum /tmp/read)"
must gnstor dump "$first" --nsid 2 --mib 16 --image /tmp/read --io 128K --lanes 4
same "4096-byte blocks" "$(sum /tmp/large)" "$(sum /tmp/read)"
says "all bytes right after resets" gnstor reset "$first" --nsid 2 --mib 4
must gnstor dump "$first" --nsid 2 --mib 16 --image /tmp/read
same "as Linux reads it" "$(sum_of "$(disk_of LAB0 2)" 16)" "$(sum /tmp/read)"
must dd if=/tmp/large of="$(disk_of LAB0 2)" bs=1M oflag=direct 2>/dev/null
says "its own" gnstor find-bad "$second" --io 4096 --bad 1025 --mib 8
says "nothing is written to it: /dev/.* is mounted on /mnt" \
  gnstor dump "$third" --mib 16 --image /tmp/read
must cmp -n 16777216 /tmp/read "$(disk_of LAB2 1)"
refuses "code 20h" gnstor write "$third" --mib 4
must umount /mnt
must xfs_repair -n "$(disk_of LAB2 1)" > /dev/null 2>&1

step "they are taken from Linux"
for one in "$first" "$second" "$third"; do
  must gnstorctl local bind "$one" --driver $driver
done
says "$first +(vfio-pci|\(none\))" gnstorctl local list
must gnstorctl local bind "$first" --driver $driver # once more

step "kernels read what Linux wrote"
must gnstor dump "$first" --mib 16 --image /tmp/read
same "512-byte blocks" "$(sum /tmp/small)" "$(sum /tmp/read)"
must gnstor dump "$first" --nsid 2 --mib 16 --image /tmp/read --io 1M --lanes 4
same "4096-byte blocks" "$(sum /tmp/large)" "$(sum /tmp/read)"

step "kernels write and read, and check"
says "all bytes right" gnstor write "$first?nsid=2" --nsid 2 --io 1M --lanes 4 --seed 7
must grep "1048576 bytes at once" /tmp/said
says "all bytes right" gnstor write "$third" --io 1M --lanes 2
must grep "524288 bytes at once" /tmp/said # QEMU's mdts=7
says "all bytes right" gnstor write "$first" --io 4096 --mib 8
says "all bytes right after resets" gnstor reset "$first" --mib 4
says "this CPU rings its doorbells" gnstor write "$third?path=relay" --mib 4
must grep "all bytes right" /tmp/said
says "all bytes right after resets" gnstor reset "$third?path=relay" --mib 4
refuses "gnstorctl local release" gnstor dump "$third?path=linux"
must gnstor-perf verify --endpoint "nvme://$third?scratch=yes" --size 4M --bs 4K --iodepth 16 \
  --numjobs 4
refuses "cannot be created in a standard NVMe subsystem" \
  gnstor-perf verify --endpoint "nvme://$third"
must gnstor dump "$first" --nsid 2 --mib 16 --image /tmp/written

step "two controllers are one volume"
refuses "$third has blocks of 512 bytes, that of $second of 4096" \
  gnstor dump "$second,$third?nsid=1"
must gnstor find-bad "$second" --io 4096 --bad 1025 --mib 8 # it was let go
refuses "has no namespace 9" gnstor dump "$first,$third?nsid=9"
both="$first,$third?nsid=1&stripe=64K"
says "all bytes right" gnstor write "$both" --io 1M --lanes 2 --mib 6 --seed 9
must grep "striped over 2 controllers, 64 KiB on each in turn" /tmp/said
says "all bytes right after resets" gnstor reset "$both" --mib 4 --seed 9
must gnstor dump "$both" --mib 6 --image /tmp/striped --io 4096
for one in "$first" "$third"; do
  must gnstorctl local release "$one"
done
for serial in LAB0 LAB2; do
  within 20 disk_of $serial 1
  within 10 test -b "$(disk_of $serial 1)"
  k=0
  [ $serial = LAB2 ] && k=1
  : > /tmp/part
  while [ $k -lt 96 ]; do
    dd if=/tmp/striped bs=64K skip=$k count=1 2>/dev/null >> /tmp/part
    k=$((k + 2))
  done
  same "the stripes of $serial" "$(sum_of "$(disk_of $serial 1)" 3)" "$(sum /tmp/part)"
done
says "$third through Linux" gnstor dump "$both" --mib 6 --image /tmp/read
must cmp /tmp/striped /tmp/read
# The same by the paths of the disks; two names of one are none.
disks="$(disk_of LAB0 1),$(disk_of LAB2 1)"
says "striped over 2 controllers" interop_local_nvme dump \
  --endpoint "disk:$disks?stripe=64K&readonly=yes" --mib 6 --image /tmp/read
must cmp /tmp/striped /tmp/read
must cp -a "$(disk_of LAB2 1)" /dev/another
refuses "/dev/another is the same disk as /dev/nvme" \
  interop_local_nvme dump --endpoint "disk:$disks,/dev/another?readonly=yes"
for one in "$first" "$third"; do
  must gnstorctl local bind "$one" --driver $driver
done

step "PRPs of all forms"
says "a list that is one pointer to the next: right" gnstor lists "$first"
must grep "1048576 bytes, the same from an offset on: right" /tmp/said
must gnstor lists "$third"

step "features, events, and what erases"
says "event of type 1, code 1, log page 2" gnstor admin "$first"
must grep "Format NVM and Sanitize erase namespaces" /tmp/said

step "a media error goes to the request that met it"
says "its own" gnstor find-bad "$second" --io 4096 --bad 1025 --mib 8

step "one session at a time; more channels than queues"
gnstor outlive "$third" --timeout 5000 > /tmp/outlive 2>&1 &
outliving=$!
within 20 grep -q reading /tmp/outlive
refuses "another process|busy" gnstor dump "$third"

step "a controller is pulled out under its kernels"
echo nvme2 > /share/pull
wait $outliving || failed "outlive: $(cat /tmp/outlive)"
must grep "lost: timed out" /tmp/outlive
refuses "." gnstor dump "$third"

step "a process is killed under its kernels"
interop_local_nvme outlive --endpoint "nvme://$second" > /tmp/outlive 2>&1 &
outliving=$!
within 20 grep -q reading /tmp/outlive
kill -9 $outliving
wait $outliving
says "all bytes right" gnstor write "$second" --mib 4

step "Linux has them again"
must gnstorctl local release "$first"
must gnstorctl local release "$second"
within 20 disk_of LAB0 2
says "nvme" gnstorctl local list
disk=$(disk_of LAB0 2)
within 10 test -b "$disk"
same "what kernels wrote" "$(sum_of "$disk" 16)" "$(sum /tmp/written)"
ends
