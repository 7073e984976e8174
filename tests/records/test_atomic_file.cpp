// Files that no reader sees half of.
// ctest: sanitized
#include "harness/records/atomic_file.h"
#include "tests/core/temp_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

namespace klab {
namespace {

namespace fs = std::filesystem;

class Atomic : public testing::Test {
 protected:
  static std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  size_t files() const {
    return size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  const TempFolder own_;
  const fs::path folder_ = own_.path();
};

TEST_F(Atomic, AppearsWholeOnCommit) {
  const fs::path file = folder_ / "a.txt";
  {
    AtomicFile out(file);
    out.write("one ");
    EXPECT_FALSE(fs::exists(file));
    out.write("two");
    out.commit();
    EXPECT_EQ(text_of(file), "one two");
  }
  EXPECT_EQ(files(), 1U);
  write_file(file, "three");
  EXPECT_EQ(text_of(file), "three");
  EXPECT_EQ(files(), 1U);
}

TEST_F(Atomic, WithoutCommitNothingChanges) {
  const fs::path file = folder_ / "a.txt";
  write_file(file, "before");
  {
    AtomicFile out(file);
    out.write("half of");
  }
  EXPECT_EQ(text_of(file), "before");
  EXPECT_EQ(files(), 1U);
  require_writable_file(file);
  EXPECT_EQ(text_of(file), "before");
  require_writable_file(folder_ / "b.txt");
  EXPECT_EQ(files(), 1U);
}

TEST_F(Atomic, ALibraryMayWriteByName) {
  AtomicFile out(folder_ / "a.txt");
  std::ofstream(out.temporary()) << "from elsewhere";
  out.commit();
  EXPECT_EQ(text_of(folder_ / "a.txt"), "from elsewhere");
}

TEST_F(Atomic, ALinkStaysALink) {
  write_file(folder_ / "a.txt", "before");
  fs::create_symlink("a.txt", folder_ / "link.txt");
  write_file(folder_ / "link.txt", "after");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.txt"));
  EXPECT_EQ(text_of(folder_ / "a.txt"), "after");
}

TEST_F(Atomic, NamesUnwritableFilesWithTheReason) {
  const auto why = [](const fs::path& file) -> std::string {
    try {
      write_file(file, "text");
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(why(folder_ / "none" / "a.txt").find("No such file or directory"), std::string::npos);
  EXPECT_EQ(why(folder_ / "none" / "a.txt").find((folder_ / "none" / "a.txt").string()), 0U);
  EXPECT_NE(why(folder_).find("not a regular file"), std::string::npos);
  EXPECT_NE(why("/dev/null").find("not a regular file"), std::string::npos);
  if (geteuid() != 0) {  // root may write anything
    write_file(folder_ / "a.txt", "kept");
    fs::permissions(folder_ / "a.txt", fs::perms::owner_read);
    EXPECT_NE(why(folder_ / "a.txt").find("write-protected"), std::string::npos);
    EXPECT_EQ(text_of(folder_ / "a.txt"), "kept");
  }
}

TEST_F(Atomic, AFullDiskLeavesNothingBehind) {
  write_file(folder_ / "a.txt", "kept");
  const rlimit before = [] {
    rlimit l{};
    getrlimit(RLIMIT_FSIZE, &l);
    return l;
  }();
  signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file(folder_ / "a.txt", std::string(10000, 'x')), FileError);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(text_of(folder_ / "a.txt"), "kept");
  EXPECT_EQ(files(), 1U);
}

}  // namespace
}  // namespace klab
