// Shared by the tests that give broken inputs to every reader.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <new>

#include "tests/core/temp_folder.h"
#include "tests/fuzz/mutate.h"

namespace klab {

namespace fs = std::filesystem;
using fuzz::Mutator;
using nlohmann::json;

class Fuzz : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
  }
  static std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /// `once` makes an input and has it read. Counts how many were accepted: if none is, only the first test of
  /// the reader ever ran.
  void broken_inputs(const std::function<void(Mutator&)>& once) {
    int taken = 0, refused = 0;
    for (int i = 0; i < fuzz::inputs(); ++i) {
      Mutator mutator(uint64_t(i) + 1);
      const std::clock_t begin = std::clock();  // of this process: other work on the machine does not count
      try {
        once(mutator);
        ++taken;
      } catch (const std::bad_alloc&) {
        FAIL() << "input " << i << " asks for more memory than there is";
      } catch (const json::exception& e) {
        FAIL() << "input " << i << " is refused in the words of the JSON library: " << e.what();
      } catch (const std::logic_error& e) {
        if (dynamic_cast<const std::invalid_argument*>(&e) == nullptr)
          FAIL() << "input " << i << ": " << e.what();
        ++refused;
      } catch (const std::runtime_error& e) {
        const std::string message = e.what();
        EXPECT_LT(message.size(), 2000U) << "input " << i;
        EXPECT_NE(message, "") << "input " << i;
        ++refused;
      }
      const double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
      EXPECT_LT(seconds, 20) << "input " << i;
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(taken, 0);
  }

  const TempFolder own;
  const fs::path folder = own.path();
};

}  // namespace klab
