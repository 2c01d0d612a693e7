#include "tree_of_files.hpp"

#include <gnstor/host/error.hpp>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

namespace gnstor::test {
namespace {

[[noreturn]] void failed(const std::string& path, const char* what) {
  throw host::error(path + ": " + what + ": " + std::strerror(errno));
}

/// A file that is being made.
class new_file {
 public:
  explicit new_file(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0640)) {
    if (file_ < 0) failed(path, "creating");
  }
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;
  ~new_file() { ::close(file_); }

  int descriptor() const { return file_; }
  void write(std::uint64_t at, const std::vector<unsigned char>& bytes) {
    if (::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(at)) !=
        static_cast<ssize_t>(bytes.size()))
      failed(path_, "writing");
  }
  void allocate(int mode, std::uint64_t at, std::uint64_t bytes) {
    if (::fallocate(file_, mode, static_cast<off_t>(at), static_cast<off_t>(bytes)) != 0)
      failed(path_, "fallocate");
  }
  void attribute(const char* name, std::size_t bytes) {
    const std::string value(bytes, 'v');
    if (::fsetxattr(file_, name, value.data(), bytes, 0) != 0) failed(path_, "fsetxattr");
  }
  void sync() {
    if (::fsync(file_) != 0) failed(path_, "fsync");
  }

 private:
  std::string path_;
  int file_;
};

void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) failed(path, "mkdir");
}

class tree_maker {
 public:
  tree_maker(const std::string& folder, std::uint64_t seed) : folder_(folder), random_(seed) {
    struct stat about {};
    if (::stat(folder.c_str(), &about) != 0) failed(folder, "stat");
    block_ = static_cast<std::uint64_t>(about.st_blksize);
  }

  std::vector<unsigned char> bytes(std::uint64_t count) {
    std::vector<unsigned char> data(count);
    std::size_t at = 0;
    for (; at + 8 <= count; at += 8) {
      const std::uint64_t word = random_();
      std::memcpy(data.data() + at, &word, 8);
    }
    for (; at < count; ++at) data[at] = static_cast<unsigned char>(random_());
    return data;
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  std::string path(const std::string& name) const { return folder_ + '/' + name; }

  void ordinary(std::uint64_t count);
  void fragmented(const std::string& name, std::uint64_t pieces);
  void half_written(const std::string& name, std::uint64_t pieces);
  void sparse();
  void shared();
  void links();
  void deep();
  void thinned();

 private:
  std::string folder_;
  std::mt19937_64 random_;
  std::uint64_t block_;
};

/// Directories of 1, 10, 100 and 1,000 times the names of the first, until there are enough.
void tree_maker::ordinary(std::uint64_t count) {
  const char* const words[] = {"file",   "données", "Größe", "файл", "ファイル",
                               "αρχείο", "קובץ",    "📦",     "a b",  "new\nline"};
  std::uint64_t made = 0;
  for (std::uint64_t k = 0, names = 3; made < count; ++k, names = names >= 3000 ? 3 : names * 10) {
    const std::string folder = path("dir" + std::to_string(k));
    make_folder(folder);
    for (std::uint64_t j = 0; j < names && made < count; ++j, ++made) {
      // A line break would tear the lists that are compared.
      std::string name = std::string(words[below(9)]) + '-' + std::to_string(j);
      if (j % 16 == 5) name += std::string(150 + below(80), 'x');
      new_file f(folder + '/' + name);
      const std::uint64_t size = j % 8 == 0 ? 0 : below(j % 32 == 1 ? 100'000 : 6'000);
      if (size != 0) f.write(0, bytes(size));
      // They take room in the inode, so that extents move into a tree sooner.
      if (j % 7 == 2) f.attribute("user.short", 40);
      if (j % 70 == 2) f.attribute("user.long", 900);
    }
  }
}

void tree_maker::fragmented(const std::string& name, std::uint64_t pieces) {
  new_file f(path(name));
  f.attribute("user.short", 60);
  f.write(0, bytes(2 * pieces * block_));
  f.sync();
  for (std::uint64_t k = 0; k < pieces; ++k)
    f.allocate(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2 * k * block_, block_);
}

void tree_maker::half_written(const std::string& name, std::uint64_t pieces) {
  new_file f(path(name));
  f.allocate(0, 0, 2 * pieces * block_ + 7);
  for (std::uint64_t k = 0; k < pieces; ++k) f.write((2 * k + 1) * block_, bytes(block_));
}

void tree_maker::sparse() {
  new_file far(path("sparse"));
  far.write(5'000'000, bytes(10'000));
  far.write(40'000'000, bytes(1));
  new_file empty(path("only a hole"));
  if (::ftruncate(empty.descriptor(), 1'234'567) != 0) failed("only a hole", "ftruncate");
  new_file behind(path("allocated behind its end"));
  behind.write(0, bytes(5'000));
  behind.allocate(FALLOC_FL_KEEP_SIZE, 0, 3'000'000);
  new_file unwritten(path("unwritten"));
  unwritten.allocate(0, 0, 500'001);
}

/// Files that share blocks, where the file system can do that; one of them is changed in its midst.
void tree_maker::shared() {
  new_file from(path("shared from"));
  from.write(0, bytes(256 * block_));
  from.sync();
  new_file whole(path("shared whole"));
  if (::ioctl(whole.descriptor(), FICLONE, from.descriptor()) != 0) {
    if (errno == EOPNOTSUPP || errno == EINVAL) return;
    failed("shared whole", "FICLONE");
  }
  whole.write(100 * block_, bytes(3 * block_));
  new_file part(path("shared part"));
  for (std::uint64_t k = 0; k < 40; ++k) {
    const file_clone_range range{from.descriptor(), (200 - 2 * k) * block_, block_, k * block_};
    if (::ioctl(part.descriptor(), FICLONERANGE, &range) != 0)
      failed("shared part", "FICLONERANGE");
  }
}

void tree_maker::links() {
  for (const std::size_t length : {1u, 30u, 60u, 200u, 400u, 700u, 1023u}) {
    const std::string name = path("symlink of " + std::to_string(length));
    if (::symlink(std::string(length, 't').c_str(), name.c_str()) != 0) failed(name, "symlink");
  }
  new_file f(path("linked"));
  f.write(0, bytes(9'999));
  if (::link(path("linked").c_str(), path("linked again").c_str()) != 0) failed("linked", "link");
  if (::mkfifo(path("fifo").c_str(), 0600) != 0) failed("fifo", "mkfifo");
}

void tree_maker::deep() {
  std::string folder = path("deep");
  make_folder(folder);
  for (int k = 0; k < 60; ++k) {
    folder += "/level-" + std::to_string(k);
    make_folder(folder);
  }
  new_file f(folder + "/bottom");
  f.write(0, bytes(20'000));
}

/// A large directory of which most names are gone again: holes among its blocks.
void tree_maker::thinned() {
  const std::string folder = path("thinned");
  make_folder(folder);
  const auto name = [&](int k) { return folder + "/" + std::string(100, 'n') + std::to_string(k); };
  for (int k = 0; k < 1500; ++k) new_file f(name(k));
  for (int k = 100; k < 1450; ++k) {
    if (k % 400 != 0 && ::unlink(name(k).c_str()) != 0) failed(name(k), "unlink");
  }
}

}  // namespace

void make_tree(const std::string& folder, std::uint64_t count, std::uint64_t seed) {
  tree_maker tree(folder, seed);
  tree.fragmented("fragmented a little", 60);
  tree.fragmented("fragmented", 700);
  tree.half_written("half written", 15);
  tree.half_written("half written, many", 300);
  tree.sparse();
  tree.links();
  tree.deep();
  tree.thinned();
  tree.ordinary(count);
  tree.shared();
}

}  // namespace gnstor::test
