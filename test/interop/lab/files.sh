# shellcheck shell=sh
# Files of all sizes for tests that read them. Sourced: . /lab/files.sh

# fill_files FOLDER: 66 files there; what they are made of is in /tmp/random.
fill_files() {
  mkdir -p "$1/deep"
  head -c 3000000 /dev/urandom > /tmp/random
  k=0
  while [ $k -lt 60 ]; do
    dd if=/tmp/random of="$1/$k" bs=1 skip=$((k * 31)) count=$((k * k * 13)) 2> /dev/null
    k=$((k + 1))
  done
  cp /tmp/random "$1/deep/long"
  : > "$1/deep/empty"
  dd if=/tmp/random of="$1/deep/holes" bs=4096 count=3 seek=200 2> /dev/null
  # Not every file system has unwritten blocks.
  xfs_io -f -c "falloc 0 1m" -c "pwrite -S 0x31 8k 12k" "$1/deep/unwritten" > /dev/null 2>&1
  # Two files that grow by turns lie in pieces.
  k=0
  while [ $k -lt 30 ]; do
    for name in one two; do
      xfs_io -f -c "pwrite -S $((k + 1)) $((k * 4096)) 4096" -c fsync "$1/deep/$name" > /dev/null
    done
    k=$((k + 1))
  done
}
