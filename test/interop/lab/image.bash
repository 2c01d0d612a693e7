# shellcheck shell=bash disable=SC2154 # sourced by guest-lab, which sets the variables
# The guest's root file system: a cached base archive, and an overlay with what one run adds. The
# kernel unpacks archives that follow each other one after the other.

# Programs of the packages in the base.
tools=(dash kmod ip rdma tc nvme mkfs.xfs xfs_repair ibv_devinfo ibv_rc_pingpong rping)

# Kernel modules in the base, with what they depend on; crc32 is what rxe asks the crypto layer for
# when it runs.
modules=(ib_core ib_cm rdma_cm ib_uverbs rdma_ucm rdma_rxe nvme-core nvme nvme-fabrics nvme-rdma
  nvme-loop nvmet nvmet-rdma null_blk brd loop virtio_blk virtio_pci virtio_net virtio_console
  virtio_rng dummy sch_netem configfs xfs 9p 9pnet_virtio crc32_generic crc32-pclmul
  crc32c_generic crc32c-intel crct10dif_generic crct10dif-pclmul crc64-rocksoft_generic
  sha256_generic)

is_elf() { [[ $(head -c 4 "$1" 2>/dev/null | tail -c 3 | tr -d '\0') == ELF ]]; }

# Copies the shared libraries that ELF files need: add_libraries <image folder> <file>... The
# packages' libraries win over this machine's; those beside a file count too.
add_libraries() {
  local into=$1 file line
  shift
  mkdir -p "$into/$library_folder"
  for file in "$@"; do
    is_elf "$file" || continue
    "$loader" --verify "$file" >/dev/null 2>&1
    [[ $? -ne 1 ]] || continue  # static
    while read -r line; do
      case $line in
        *'not found'* | *'cannot open'*) die 3 "$(basename "$file") cannot run: $line" ;;
        *' => '/*)
          line=${line#* => }
          line=${line%% (*}
          [[ -e $into/$library_folder/$(basename "$line") ]] ||
            cp -L "$line" "$into/$library_folder/" ;;
      esac
    done < <("$loader" --library-path "$library_path:$(dirname "$file")" --list "$file" 2>&1)
  done
}

# An archive of a folder, owned by root: pack <folder> <archive>
pack() {
  (cd "$1" && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
    run_here cpio -o0 -H newc -R 0:0 --quiet) > "$2"
}

# The files of modules and of what they depend on, below the kernel's module folder. A name that the
# kernel does not have is left out.
module_files() {
  local folder=$kernel_folder/lib/modules/$kernel_version
  awk -v wanted="$*" '
    function key(s) { sub(/.*\//, "", s); sub(/\.ko.*/, "", s); gsub(/-/, "_", s); return s }
    FILENAME ~ /softdep$/ {
      if ($1 == "softdep")
        for (i = 3; i <= NF; i++) if ($i !~ /:$/) soft[key($2)] = soft[key($2)] " " $i
      next
    }
    { name = $1; sub(/:$/, "", name); file[key(name)] = name; line[key(name)] = $0 }
    END {
      n = split(wanted, list, " ")
      for (i = 1; i <= n; i++) {
        k = key(list[i])
        if (!(k in line) || (k in seen)) continue
        seen[k] = 1
        print file[k]
        m = split(line[k], part, " "); for (j = 2; j <= m; j++) list[++n] = part[j]
        m = split(soft[k], part, " "); for (j = 1; j <= m; j++) list[++n] = part[j]
      }
    }' "$folder/modules.softdep" "$folder/modules.dep"
}

add_modules() {  # add_modules <image folder>
  local from=lib/modules/$kernel_version file name target
  for name in "${modules_more[@]}"; do
    [[ -n $(module_files "$name") ]] || die 3 "kernel $kernel_version has no module $name"
  done
  mkdir -p "$1/$from"
  cp "$kernel_folder/$from"/modules.{builtin,builtin.modinfo,order} "$1/$from/" 2>/dev/null
  for file in $(module_files "${modules[@]}" "${modules_more[@]}"); do
    target=$1/$from/$file
    mkdir -p "$(dirname "$target")"
    case $file in  # decompressed here, where it is cheap
      *.xz) xz -dc "$kernel_folder/$from/$file" > "${target%.xz}" ;;
      *.zst) zstd -dcq "$kernel_folder/$from/$file" > "${target%.zst}" ;;
      *) cp "$kernel_folder/$from/$file" "$target" ;;
    esac
  done
  run_here depmod -b "$1" "$kernel_version" || die 3 "depmod failed for the guest's modules"
}

add_settings() {  # add_settings <image folder>
  echo 'root:x:0:0:root:/root:/bin/sh' > "$1/etc/passwd"
  echo 'root:x:0:' > "$1/etc/group"
  printf '127.0.0.1 localhost guest\n' > "$1/etc/hosts"
  echo 'hosts: files' > "$1/etc/nsswitch.conf"
  mkdir -p "$1/etc/nvme"
  echo nqn.2014-08.org.nvmexpress:uuid:6c616200-0000-4000-8000-000000000001 > "$1/etc/nvme/hostnqn"
  echo 6c616200-0000-4000-8000-000000000001 > "$1/etc/nvme/hostid"
  ln -s /proc/mounts "$1/etc/mtab"
}

# Sets base; builds it once for each kernel and content.
prepare_base() {
  local key begun=$EPOCHREALTIME image=$scratch/base name path
  key=$({ echo "$kernel_version ${modules_more[*]}"; cat "$lab_home"/{packages.bash,image.bash,init}; } |
    md5sum | cut -c1-12)
  base=$cache/base-$kernel_version-$key.cpio
  [[ -s $base ]] && return
  mkdir -p "$image"/{usr/{bin,sbin,lib,lib64},etc,dev,proc,sys,tmp,run,root,lab,mnt,share}
  mkdir -p "$image/$library_folder/libibverbs" "$image/etc/libibverbs.d"
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$image/$name"; done
  cp "$root/usr/bin/busybox" "$image/usr/bin/"
  cp -L "$loader" "$image/usr/lib64/"
  cp -L "$root/$library_folder/libgcc_s.so.1" "$image/$library_folder/"  # glibc opens it by name
  for name in "${tools[@]}"; do
    path=$(find_program "$name") || die 3 "the lab's packages have no program $name"
    cp -L "$path" "$image/usr/sbin/$name"
    add_libraries "$image" "$path"
  done
  ln -s ../sbin/dash "$image/usr/bin/sh"
  for name in modprobe insmod rmmod lsmod; do ln -s kmod "$image/usr/sbin/$name"; done
  # libibverbs opens its providers by name.
  cp "$root/etc/libibverbs.d/rxe.driver" "$image/etc/libibverbs.d/"
  path=$(echo "$root/$library_folder"/libibverbs/librxe-*.so)
  cp -L "$path" "$image/$library_folder/libibverbs/"
  add_libraries "$image" "$path"
  add_modules "$image"
  add_settings "$image"
  cp "$lab_home/init" "$image/init"
  chmod 755 "$image/init"
  pack "$image" "$base.new" || die 3 "cannot pack the base archive"
  mv "$base.new" "$base"
  rm -rf "$image"
  say "base archive, $(($(stat -c %s "$base") >> 20)) MiB, in $(seconds "$begun" "$EPOCHREALTIME") s"
}

# A text as a word of the guest's shell.
quoted() { printf "'%s'" "${1//\'/\'\\\'\'}"; }

# $scratch/initrd: the base, and this run's script, files and their libraries.
make_initrd() {
  local over=$scratch/over file path one
  mkdir -p "$over/lab" "$over/usr/lib"
  cp "$script" "$over/lab.script"
  chmod 755 "$over/lab.script"
  for file in "${copies[@]}"; do
    path=$file
    [[ -e $path || $path == */* ]] || path=$(find_program "$file")
    [[ -n $path && -e $path ]] || die 2 "cannot find $file to copy"
    cp -RL "$path" "$over/lab/" || die 2 "cannot copy $file"
    while IFS= read -r -d '' one; do add_libraries "$over" "$one"; done \
      < <(find -L "$path" -type f -print0)
  done
  for one in "${envs[@]}"; do
    printf 'export %s=%s\n' "${one%%=*}" "$(quoted "${one#*=}")"
  done > "$over/lab.env"
  {
    printf 'set --'
    for one in "${arguments[@]}"; do printf ' %s' "$(quoted "$one")"; done
    echo
  } >> "$over/lab.env"
  [[ -z $share ]] || : > "$over/lab.share"
  pack "$over" "$scratch/over.cpio" || die 3 "cannot pack this run's files"
  cat "$base" "$scratch/over.cpio" > "$scratch/initrd"
}
