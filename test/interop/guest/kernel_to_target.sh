#!/bin/sh
# The Linux kernel's host against gnstor-target: block devices, files, fio, refusals, a restart.
. /lab/guest.sh
. /lab/target.sh
address=10.1.0.1
other=nqn.2026-11.test:other
other_id=6c616200-0000-4000-8000-000000000002
array='emu:?ssds=4&capacity=256M&replicas=2&flash=/tmp/flash'
mkdir /tmp/flash

step "gnstor-target with two volumes"
start_rdma $address
start_host
serve $address:4420 --array "$array" --volume 384M --volume 64M

step "discover, connect, list, id-ctrl, smart-log"
nvme discover -t rdma -a $address -s 4420 > /tmp/found || failed "nvme discover"
grep subnqn /tmp/found
for nqn in $array_nqn $volume_nqn.1 $volume_nqn.2; do
  grep -q "subnqn: *$nqn\$" /tmp/found || failed "$nqn is not discovered"
done
plug $volume_nqn.1
first=$(block_device $volume_nqn.1 1)
control=/dev/$(controller $volume_nqn.1)
says "$first" nvme list
says "subnqn *: $volume_nqn.1" nvme id-ctrl "$control"
says "lbads:12.*in use" nvme id-ns "$first"
says "critical_warning[[:space:]]*: 0" nvme smart-log "$control"
says ":0x1" nvme list-ns "$control"
says "error_count" nvme error-log -e 1 "$control"

step "files"
files_on "$first"
must blkdiscard "$first" -o 0 -l 1048576
must nvme write-zeroes "$first" -s 0 -c 15
must nvme flush "$first" -n 1

step "several ranges in one command"
head -c 1048576 /dev/urandom > /tmp/whole
must dd if=/tmp/whole of="$first" bs=64k oflag=direct 2> /dev/null
must nvme dsm "$first" -n 1 -d --slbs=4,100,200 --blocks=8,1,16
refuses "LBA Out of Range" nvme dsm "$first" -n 1 -d --slbs=30,99999999 --blocks=1,1  # neither
for range in 4:8 100:1 200:16; do
  must dd if=/dev/zero of=/tmp/whole bs=4096 seek=${range%:*} count=${range#*:} conv=notrunc \
    2> /dev/null
done
must dd if="$first" of=/tmp/read bs=64k count=16 iflag=direct 2> /dev/null
must cmp /tmp/whole /tmp/read

step "fio, verified"
must fio --name=mixed --filename="$first" --ioengine=libaio --direct=1 --rw=randrw --iodepth=16 \
  --bsrange=4k-128k --size=24m --verify=crc32c --verify_fatal=1 --minimal > /tmp/fio

step "two hosts at once"
plug $volume_nqn.2 -q $other -I $other_id
second=$(block_device $volume_nqn.2 1)
head -c 4194304 /dev/urandom > /tmp/a
head -c 4194304 /dev/urandom > /tmp/b
dd if=/tmp/a of="$first" bs=256k oflag=direct 2>/dev/null &
writer=$!
must dd if=/tmp/b of="$second" bs=64k oflag=direct 2>/dev/null
wait $writer || failed "the first host's dd"
a=$(sha256sum < /tmp/a | cut -d' ' -f1)
same "the first host's volume" "$a" "$(sum_of "$first" 4)"
same "the second host's volume" "$(sha256sum < /tmp/b | cut -d' ' -f1)" "$(sum_of "$second" 4)"

step "refusals"
refuses "could not add" nvme connect -t rdma -a $address -s 4420 -n nqn.2026-11.test:none
must grep_dmesg 'Connect Invalid Data Parameter, subsysnqn'
refuses "Invalid Namespace" nvme id-ns "$control" -n 9
refuses "LBA Out of Range" nvme read "$first" -s 98304 -c 0 -z 4096
must nvme disconnect -n $volume_nqn.2
must nvme disconnect -n $volume_nqn.1

step "a target that is asked to end, and starts again for one host"
stop_serving
serve $address:4420 --array "$array" --allow-host $other
refuses "could not add" nvme connect -t rdma -a $address -s 4420 -n $volume_nqn.1
must grep_dmesg 'is not allowed'
plug $volume_nqn.1 -q $other -I $other_id
same "the volume after a restart" "$a" "$(sum_of "$(block_device $volume_nqn.1 1)" 4)"
must nvme disconnect -n $volume_nqn.1
stop_serving
ends
