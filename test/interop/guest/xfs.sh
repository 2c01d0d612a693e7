#!/bin/sh
# XFS made with several options: what gnstor reads of its device is what Linux reads of its files.
. /lab/guest.sh
modprobe xfs
modprobe null_blk nr_devices=0
grep -q /sys/kernel/config /proc/mounts || mount -t configfs configfs /sys/kernel/config
mkdir -p /mnt

# what_linux_says: of everything in /mnt, in the form of interop_files.
what_linux_says() {
  (cd /mnt && find . -type f -print0 | xargs -0 -r sha256sum | sed 's|  \./|  |' | sort) > /tmp/sums
  (cd /mnt && find . -mindepth 1 -print0 | xargs -0 -r stat -c '%i %a %s %h %Y %n' |
    sed 's| \./| |' | sort) > /tmp/tree
  (cd /mnt && find . -type l | while read -r one; do
    echo "${one#./} -> $(readlink "$one")"
  done | sort) > /tmp/links
}
# same_files DEVICE: gnstor says the same.
same_files() {
  for list in sums tree links; do
    interop_files $list --at "$1" > /tmp/read 2> /tmp/said || failed "$list: $(cat /tmp/said)"
    sort /tmp/read > /tmp/sorted
    cmp -s /tmp/$list /tmp/sorted ||
      failed "$list: $(diff /tmp/$list /tmp/sorted | head -4; wc -l < /tmp/$list)"
  done
  echo "$(wc -l < /tmp/sums) files are the same; $(cat /tmp/said)"
}
# after_a_crash: a copy of the disk, as it is while Linux has it mounted, is refused, and read once
# what the message says was done.
after_a_crash() {
  mounted=$disk
  ram_disk crashed $((384 + FILES / 8)) 512
  crashed=$disk
  disk=$mounted
  rm -r /mnt/dir0
  sync
  must dd if="$mounted" of="$crashed" bs=1M iflag=direct oflag=direct 2> /dev/null
  refuses "after a crash, mount it once" interop_files tree --at "$crashed"
  what_linux_says
  mkdir -p /crashed
  must mount -t xfs -o nouuid "$crashed" /crashed # Linux replays the log
  must umount /crashed
  same_files "$crashed"
  echo 0 > /sys/kernel/config/nullb/crashed/power
  rmdir /sys/kernel/config/nullb/crashed
}
# try NAME SECTOR_BYTES MKFS_OPTION...
try() {
  name=$1
  sector=$2
  shift 2
  case " ${KINDS:-$name} " in *" $name "*) ;; *) return ;; esac
  step "$*"
  ram_disk "$name" $((384 + FILES / 8)) "$sector"
  [ "$FILES" -gt 10000 ] || must interop_files soil --at "$disk"
  must mkfs.xfs -q "$@" "$disk"
  must mount -t xfs -o logbsize=256k "$disk" /mnt
  must interop_files fill --at /mnt --count "$FILES" --seed "$sector"
  if [ "$name" = frozen ]; then
    sync
    refuses "the log holds changes" interop_files tree --at "$disk"
    what_linux_says
    must interop_files freeze --at /mnt
    same_files "$disk"
    must interop_files thaw --at /mnt
    after_a_crash
    rm -rf /mnt/dir1
    sync
    refuses "the log holds changes" interop_files tree --at "$disk"
  fi
  what_linux_says
  must umount /mnt
  same_files "$disk"
  echo 0 > "/sys/kernel/config/nullb/$name/power"
  rmdir "/sys/kernel/config/nullb/$name"
}

try frozen 512
try small 512 -m crc=0 -b size=512
try wide 4096 -n size=64k -i nrext64=1 -m rmapbt=1
try short 512 -b size=1024 -m bigtime=0,inobtcount=0 -i sparse=1,size=512 -d agcount=5
try old 512 -m crc=0 -n ftype=0 -i size=256 -l su=32k
case $(uname -r) in 6.1.*) ;; *)
  [ "$FILES" -le 10000 ] || FILES=10000 # each takes 64 KiB
  try large 512 -b size=65536 -i nrext64=1
  try medium 4096 -b size=16384 -n size=32768
esac

# damage WHERE FIELD...: each field by xfs_db, which makes the checksum right again; the reader ends
# with a message or without, and what stood there comes back.
damage() {
  where=$1
  shift
  sector=$(xfs_db -c "${where%%;*}" ${2:+-c "${where#*;}"} -c daddr "$disk" | grep -o '[0-9]*$')
  dd if="$disk" of=/tmp/kept bs=512 skip="$sector" count=128 2> /dev/null
  for field in "$@"; do
    for verb in ${VERBS:-ones middlebit}; do
      must xfs_db -x -c "${where%%;*}" -c "${where#*;}" -c "fuzz -d $field $verb" "$disk" \
        > /tmp/fuzzed 2>&1
      interop_files check --at "$disk" 2> /tmp/said
      code=$?
      case $code in
        0) same=$((same + 1)) ;;
        1) found=$((found + 1)) ;;
        *) failed "$where $field $verb: exit code $code: $(tail -2 /tmp/said)" ;;
      esac
      [ $code = 0 ] || grep -q "^interop_files: $disk: " /tmp/said || failed "$(cat /tmp/said)"
      dd if=/tmp/kept of="$disk" bs=512 seek="$sector" conv=notrunc 2> /dev/null
    done
  done
}
try_damage() {
  step "damage by xfs_db"
  ram_disk damaged 384 512
  must mkfs.xfs -q "$disk"
  must mount "$disk" /mnt
  must interop_files fill --at /mnt --count 60
  file=$(stat -c %i /mnt/fragmented)
  folder=$(stat -c %i /mnt/thinned)
  small=$(stat -c %i /mnt/dir0)
  link=$(stat -c %i "/mnt/symlink of 700")
  must umount /mnt
  found=0
  same=0
  damage "inode $file" core.mode core.format core.size core.nextents core.forkoff \
    u3.bmbt.level u3.bmbt.numrecs "u3.bmbt.keys[1].startoff" "u3.bmbt.ptrs[1]"
  damage "inode $file;addr u3.bmbt.ptrs[1]" magic level numrecs owner bno \
    "recs[1].startoff" "recs[2].startblock" "recs[2].blockcount"
  damage "inode $folder;dblock 0" dhdr.hdr.magic dhdr.hdr.owner "du[2].inumber" "du[2].namelen" \
    "du[3].tag"
  damage "inode $small" core.size u3.sfdir3.hdr.count "u3.sfdir3.list[1].namelen" \
    "u3.sfdir3.list[1].inumber.i4"
  damage "inode $link;dblock 0" bytes offset owner
  damage "agi 0" root level seqno
  damage "sb 0" blocklog agblocks agcount dblocks inopblog dirblklog logstart rootino
  must interop_files check --at "$disk"
  echo "damage: $found found, $same not"
  [ $found -gt $((2 * same)) ] || failed "most damage went unnoticed"
}
case " ${KINDS:-damaged} " in *" damaged "*) try_damage ;; esac
ends
